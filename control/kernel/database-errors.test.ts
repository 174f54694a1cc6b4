import { expect, test } from "vitest";
import { withDatabaseErrors } from "./database-errors.ts";

const failing = (error: unknown) => async (): Promise<never> => await Promise.reject(error);

test.each([
  new Error("Failed query: select 1", { cause: new Error("Connection terminated unexpectedly") }),
  new Error("Failed query: select 1", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }),
  Object.assign(new Error("shutting down"), { code: "57P01" }),
  new Error("timeout exceeded when trying to connect"),
  Object.assign(new Error("password authentication failed"), { code: "28P01" }),
  Object.assign(new Error("database does not exist"), { code: "3D000" }),
  Object.assign(new Error("too many connections"), { code: "53300" }),
])("a lost connection is database_unavailable: %s", async (error) => {
  await expect(withDatabaseErrors(failing(error))).rejects.toMatchObject({ code: "database_unavailable" });
});

test("words in the text of a query do not make its failure a lost connection", async () => {
  const error = new Error("Failed query: insert 'we connect closed doors'", {
    cause: Object.assign(new Error("bad value"), { code: "22P02" }),
  });
  await expect(withDatabaseErrors(failing(error))).rejects.toBe(error);
  const plain = new Error("Failed query: insert 'connect'", { cause: new Error("bad value") });
  await expect(withDatabaseErrors(failing(plain))).rejects.toBe(plain);
});
