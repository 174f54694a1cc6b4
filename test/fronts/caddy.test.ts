/** The gateway behind Caddy, as infra/fronts/Caddyfile has it. */
import { describe } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { caddy, ownStack } from "./front-programs.ts";
import { itServesTheDataPlane } from "./front-suite.ts";

const fixture = useGateway();
const front = useFront(caddy(ownStack));

describe("Caddy", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);
});
