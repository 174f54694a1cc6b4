/** The programs that serve the configurations of infra/fronts, and how a test changes these. */
import { join } from "node:path";
import { inject } from "vitest";
import { programPath } from "../harness/program-path.ts";
import { CONSOLE, DATA_PLANE, type FrontProgram } from "./front-process.ts";

interface Behind {
  /** The data planes, as `host:port`: one, or two. */
  readonly dataPlanes: readonly string[];
  readonly console: string;
}

/** The stack that all tests of fronts share. */
export const ownStack = (): Behind => ({
  dataPlanes: [new URL(inject("proxyUrl")).host],
  console: new URL(inject("consoleAccess")?.url ?? "").host,
});

/** Folders that Debian's package makes for its service alone. */
const NGINX_FOLDERS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** Where nginx logs in a folder of a test. */
export const accessLogIn = (folder: string): string => join(folder, "access.log");

export const nginx = (behind: () => Behind): FrontProgram => ({
  path: "/usr/sbin/nginx",
  install: "on Debian `apt-get install nginx-light`",
  configuration: "nginx.conf",
  changes: ({ folder, port, plainPort, certFile, keyFile }) => [
    ["/var/log/nginx/gateway.log", accessLogIn(folder)],
    ["pid /run/nginx.pid;", `pid ${folder}/nginx.pid;`],
    [
      "server_tokens off;",
      `server_tokens off; ${NGINX_FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}`,
    ],
    ["listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`],
    ["listen [::]:443 ssl http2;", ""],
    ["listen 80 default_server;", `listen 127.0.0.1:${plainPort} default_server;`],
    ["listen [::]:80 default_server;", ""],
    ...[DATA_PLANE, CONSOLE].flatMap((name) => [
      [`/etc/letsencrypt/live/${name}/fullchain.pem`, certFile] as const,
      [`/etc/letsencrypt/live/${name}/privkey.pem`, keyFile] as const,
    ]),
    ...led(behind(), (address) => address),
  ],
  endBy: "SIGTERM",
  args: (file, { folder }) => ["-p", folder, "-c", file, "-e", "stderr", "-g", "daemon off;"],
});

export const caddy = (behind: () => Behind): FrontProgram => ({
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
      ...led(behind(), (address) => address),
    ];
  },
  endBy: "SIGKILL", // it waits for open connections at any other
  args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
});

export const envoy = (behind: () => Behind): FrontProgram => ({
  path: programPath("envoy") ?? "envoy",
  install: "put an `envoy` on the PATH: https://www.envoyproxy.io/docs/envoy/latest/start/install",
  configuration: "envoy.yaml",
  changes: ({ port, plainPort, certFile, keyFile }) => [
    ["address: 0.0.0.0, port_value: 443", `address: 127.0.0.1, port_value: ${port}`],
    ["address: 0.0.0.0, port_value: 80", `address: 127.0.0.1, port_value: ${plainPort}`],
    ["/etc/envoy/tls/fullchain.pem", certFile],
    ["/etc/envoy/tls/privkey.pem", keyFile],
    ...led(behind(), (address) => `address: ${address.replace(":", ", port_value: ")}`),
  ],
  endBy: "SIGTERM",
  args: (file) => ["-c", file, "--concurrency", "2", "--use-dynamic-base-id", "--log-level", "warning"],
});

/** The addresses of a file as it writes them, with what is behind it; the lines for a second instance only count with one. */
function led({ dataPlanes: [one = "", two], console }: Behind, written: (address: string) => string) {
  const changes: (readonly [string, string])[] = [
    [written("127.0.0.1:8080"), written(one)],
    [written("127.0.0.1:3000"), written(console)],
  ];
  if (two !== undefined) changes.push(["#2 ", ""], [written("10.0.0.2:8080"), written(two)]);
  return changes;
}
