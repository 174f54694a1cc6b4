/** The gateway behind Envoy, as infra/fronts/envoy.yaml has it. Debian has no Envoy: it runs where one is on the PATH. */
import { describe, inject } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { programPath } from "../harness/program-path.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { itServesTheDataPlane } from "./front-suite.ts";

const addressIn = (url: string): string => {
  const { hostname, port } = new URL(url);
  return `address: ${hostname}, port_value: ${port}`;
};

const fixture = useGateway();
const front = useFront({
  path: programPath("envoy") ?? "envoy",
  install: "put an `envoy` on the PATH: https://www.envoyproxy.io/docs/envoy/latest/start/install",
  configuration: "envoy.yaml",
  changes: ({ port, plainPort, certFile, keyFile }) => [
    ["address: 0.0.0.0, port_value: 443", `address: 127.0.0.1, port_value: ${port}`],
    ["address: 0.0.0.0, port_value: 80", `address: 127.0.0.1, port_value: ${plainPort}`],
    ["/etc/envoy/tls/fullchain.pem", certFile],
    ["/etc/envoy/tls/privkey.pem", keyFile],
    ["address: 127.0.0.1, port_value: 8080", addressIn(inject("proxyUrl"))],
    ["address: 127.0.0.1, port_value: 3000", addressIn(inject("consoleAccess")?.url ?? "")],
  ],
  endBy: "SIGTERM",
  args: (file) => ["-c", file, "--concurrency", "2", "--use-dynamic-base-id", "--log-level", "warning"],
});

describe("Envoy", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);
});
