/** The gateway behind nginx, as infra/fronts/nginx.conf has it. */
import { describe, inject } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { itServesTheDataPlane } from "./front-suite.ts";

/** Folders that Debian's package makes for its service alone. */
const FOLDERS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const fixture = useGateway();
const front = useFront({
  path: "/usr/sbin/nginx",
  install: "on Debian `apt-get install nginx-light`",
  configuration: "nginx.conf",
  changes: ({ folder, port, plainPort, certFile, keyFile }) => [
    ["pid /run/nginx.pid;", `pid ${folder}/nginx.pid;`],
    [
      "server_tokens off;",
      `server_tokens off; ${FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}`,
    ],
    ["listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`],
    ["listen [::]:443 ssl http2;", ""],
    ["listen 80 default_server;", `listen 127.0.0.1:${plainPort} default_server;`],
    ["listen [::]:80 default_server;", ""],
    ...[DATA_PLANE, CONSOLE].flatMap((name) => [
      [`/etc/letsencrypt/live/${name}/fullchain.pem`, certFile] as const,
      [`/etc/letsencrypt/live/${name}/privkey.pem`, keyFile] as const,
    ]),
    ["127.0.0.1:8080", new URL(inject("proxyUrl")).host],
    ["127.0.0.1:3000", new URL(inject("consoleAccess")?.url ?? "").host],
  ],
  endBy: "SIGTERM",
  args: (file, { folder }) => ["-p", folder, "-c", file, "-e", "stderr", "-g", "daemon off;"],
});

describe("nginx", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);
});
