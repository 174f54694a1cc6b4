/** The gateway behind Envoy, as infra/fronts/envoy.yaml has it. Debian has no Envoy: it runs where one is on the PATH. */
import { describe } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { envoy, ownStack } from "./front-programs.ts";
import { itServesTheDataPlane } from "./front-suite.ts";

const fixture = useGateway();
const front = useFront(envoy(ownStack));

describe("Envoy", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);
});
