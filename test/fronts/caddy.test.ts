/** The gateway behind Caddy, as infra/fronts/Caddyfile has it. */
import { describe, inject } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { itServesTheDataPlane } from "./front-suite.ts";

const fixture = useGateway();
const front = useFront({
  path: "/usr/bin/caddy",
  install: "on Debian `apt-get install caddy`",
  configuration: "Caddyfile",
  changes: ({ port, plainPort, certFile, keyFile }) => {
    const files = `\ttls ${certFile} ${keyFile}`;
    return [
      [
        "# The gateway behind Caddy 2",
        `{\n\tadmin off\n\tauto_https disable_redirects\n\thttp_port ${plainPort}\n}\n#`,
      ],
      [`\n${DATA_PLANE} {`, `\nhttps://${DATA_PLANE}:${port} {\n${files}`],
      [`${CONSOLE} {`, `https://${CONSOLE}:${port} {\n${files}`],
      ["127.0.0.1:8080", new URL(inject("proxyUrl")).host],
      ["127.0.0.1:3000", new URL(inject("consoleAccess")?.url ?? "").host],
    ];
  },
  endBy: "SIGKILL", // it waits for open connections at any other
  args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
});

describe("Caddy", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);
});
