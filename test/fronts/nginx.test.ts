/** The gateway behind nginx, as infra/fronts/nginx.conf has it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { itServesTheConsole } from "./console-suite.ts";
import { CONSOLE, DATA_PLANE, useFront } from "./front-process.ts";
import { itServesTheDataPlane } from "./front-suite.ts";
import { ask, CLIENT_ADDRESS } from "./https-client.ts";

/** Folders that Debian's package makes for its service alone. */
const FOLDERS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

const fixture = useGateway();
let accessLog = "";
const front = useFront({
  path: "/usr/sbin/nginx",
  install: "on Debian `apt-get install nginx-light`",
  configuration: "nginx.conf",
  changes: ({ folder, port, plainPort, certFile, keyFile }) => {
    accessLog = join(folder, "access.log");
    return [
      ["/var/log/nginx/gateway.log", accessLog],
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
    ];
  },
  endBy: "SIGTERM",
  args: (file, { folder }) => ["-p", folder, "-c", file, "-e", "stderr", "-g", "daemon off;"],
});

describe("nginx", () => {
  itServesTheDataPlane({ front, host: DATA_PLANE, fixture: () => fixture }, ["h2", "http/1.1"]);
  itServesTheConsole(front, CONSOLE);

  it("logs each request with the client's address and the gateway's request id, without its query", async () => {
    const answer = await ask(front(), "h2", { host: DATA_PLANE, path: "/v1/models?api_key=query-secret" });
    const lines = (): readonly Record<string, unknown>[] =>
      readFileSync(accessLog, "utf8")
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
    expect(readFileSync(accessLog, "utf8")).not.toContain("query-secret");
  });
});
