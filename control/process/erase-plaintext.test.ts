/**
 * The files of the database after the first start with a key: rewritten once, again after a failure, and never those of a
 * server.
 *
 * @module-tag check
 */
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { checkEncryptionKey } from "../kernel/encryption/encryption-check.ts";
import { erasePlaintext } from "./erase-plaintext.ts";

let control: TestControl;

beforeAll(async () => {
  control = await startControl();
  await checkEncryptionKey(control.connection.db, control.ctx.sealKey);
});
afterAll(async () => {
  await control.close();
});

it("rewrites an embedded database once, and again after a failure or a newly sealed secret", async () => {
  const events: unknown[] = [];
  const log = pino({}, { write: (line: string) => void events.push((JSON.parse(line) as { event: string }).event) });
  let rewrites = 0;
  let fails = true;
  const embedded = {
    ...control.connection,
    rewrite: async () => {
      rewrites += 1;
      if (fails) throw new Error("no room");
      await control.connection.rewrite?.();
    },
  };
  await erasePlaintext(embedded, true, log);
  await erasePlaintext(embedded, false, log);
  fails = false;
  for (const sealedNow of [false, false, true, false]) await erasePlaintext(embedded, sealedNow, log);
  expect({ rewrites, events }).toEqual({
    rewrites: 4,
    events: ["plaintext_not_forgotten", "plaintext_not_forgotten", "plaintext_forgotten", "plaintext_forgotten"],
  });
});

it("says what to do where the files belong to a database server", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  const { rewrite: _none, ...server } = control.connection;
  await erasePlaintext(server, true, log);
  await erasePlaintext(server, false, log);
  expect(lines).toMatchObject([
    { event: "plaintext_in_database_files", fix: expect.stringMatching(/^VACUUM FULL models, .*CHECKPOINT$/) },
  ]);
});
