/** The gateway behind nginx, as infra/fronts/nginx.conf has it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { accessLogIn, nginx, ownStack } from "./front-programs.ts";
import { itServesTheDataPlane } from "./front-suite.ts";
import { ask, CLIENT_ADDRESS } from "./https-client.ts";

const fixture = useGateway();
const front = useFront(nginx(ownStack));

describe("nginx", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);

  it("logs each request with the client's address and the gateway's request id, without its query", async () => {
    const answer = await ask(front(), "h2", { host: DATA_PLANE, path: "/v1/models?api_key=query-secret" });
    const lines = (): readonly Record<string, unknown>[] =>
      readFileSync(accessLogIn(front().folder), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const own = ({ request_id }: Record<string, unknown>): boolean => request_id === answer.headers["x-request-id"];
    await waitFor(lines, (all) => all.some(own));
    expect(lines().find(own)).toMatchObject({
      address: CLIENT_ADDRESS,
      host: DATA_PLANE,
      method: "POST",
      path: "/v1/models",
      status: 401,
    });
    expect(readFileSync(accessLogIn(front().folder), "utf8")).not.toContain("query-secret");
  });
});
