/** The built images run without rights, on a root that cannot be written, and serve. `npm run test:area -- containers` builds them. */
import { execFile } from "node:child_process";
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { IMAGES, type ImageName } from "../../infra/containers/images.ts";
import { jsonLine } from "../../infra/local/process/child.ts";
import { startPlanes } from "../harness/planes.ts";
import { type ProgramCommand, startProgram } from "../harness/program-process.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import type { BuiltImage, BuiltImages } from "./base.ts";

/**
 * Run by the first process, which becomes the image's own: the root becomes read-only, but for `/tmp` and the data, which is bound
 * when there is a folder for it. Mounts end with the process.
 */
const PREPARE = `
set -e
root=$1 data=$2 user=$3 folder=$4; shift 4
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
[ -z "$data" ] || mount --bind "$data" "$root/var/lib/gateway"
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" /usr/bin/env --chdir="$folder" "$@"
`;

/**
 * Runs an image as a container engine would: its user, its variables, its entry point, and a root that cannot be written. `words`:
 * a command instead of the entry point. `data`: the folder of its volume; null: it has none.
 */
function imageCommand(
  { root, config }: BuiltImage,
  data: string | null,
  words: readonly string[] = config.Entrypoint,
): ProgramCommand {
  const env = Object.fromEntries(config.Env.map((line) => [line.split("=", 1)[0] ?? "", line.replace(/^[^=]*=/, "")]));
  return {
    command: "unshare",
    args: ["--mount", "sh", "-c", PREPARE, "sh", root, data ?? "", config.User, config.WorkingDir, ...words],
    env,
  };
}

const images = JSON.parse(readFileSync(process.env["TEST_CONTAINERS"] ?? "", "utf8")) as BuiltImages;
const USER = 10_001;
const LOOPBACK = { GATEWAY_PROXY_LISTEN: "127.0.0.1:0", GATEWAY_ADMIN_LISTEN: "127.0.0.1:0" };

let data: string;

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "gateway-volume-"));
  chownSync(data, USER, USER);
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

/** Runs a command in an image; resolves with its exit code and what it wrote. */
async function inImage(name: ImageName, ...words: readonly string[]) {
  const { command, args, env } = imageCommand(images[name], null, words);
  const done = promisify(execFile)(command, args, { env: { PATH: process.env["PATH"], ...env } });
  return await done.then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    (error: { code: number; stderr: string }) => ({ code: error.code, said: error.stderr }),
  );
}

describe.each(IMAGES)("the image %s", (name) => {
  const { root, config } = images[name];

  it("names a user without rights, a health check, and nothing that could be a secret", () => {
    expect(config).toMatchObject({ User: "10001:10001", StopSignal: "SIGTERM", WorkingDir: "/app" });
    expect(config.Healthcheck.Test.slice(0, 3)).toEqual(["CMD", "node", "infra/containers/health.ts"]);
    expect(config.Env.filter((line) => /(TOKEN|SECRET|PASSWORD|KEY|PEPPER)[A-Z_]*=./.test(line))).toEqual([]);
  });

  it("has a bill of materials, and neither tests nor what belongs to a checkout", () => {
    const sbom = JSON.parse(readFileSync(join(root, "app/sbom.cdx.json"), "utf8")) as {
      components: readonly { name: string; version: string }[];
    };
    const versions = new Map(sbom.components.map((component) => [component.name, component.version]));
    for (const folder of globSync("{@*/*,[^@.]*}", { cwd: join(root, "app/node_modules") })) {
      const manifest = join(root, "app/node_modules", folder, "package.json");
      if (existsSync(manifest)) expect({ folder, isNamed: versions.has(folder) }).toEqual({ folder, isNamed: true });
    }
    expect(
      globSync("{test,docs,.git,.data,**/*.test.ts,infra/containers/secrets}", {
        cwd: join(root, "app"),
        exclude: (entry) => entry === "node_modules",
      }),
    ).toEqual([]);
    expect(existsSync(join(root, "usr/local/lib/node_modules"))).toBe(false);
    expect(existsSync(join(root, "root/.npmrc"))).toBe(false);
  });

  it("cannot write its root, and refuses to start without what it needs, by name", async () => {
    expect(await inImage(name, "touch", "/app/written")).toMatchObject({
      code: 1,
      said: expect.stringMatching(/Read-only file system/),
    });
    expect(await inImage(name, "id", "-u")).toEqual({ code: 0, said: "10001\n" });
    const secret = ["env", "GATEWAY_ADMIN_TOKEN_FILE=/nowhere", ...config.Entrypoint];
    expect(await inImage(name, ...secret)).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^gateway: GATEWAY_ADMIN_TOKEN_FILE: the file \/nowhere cannot be read: it does not exist \(ENOENT\)/,
      ),
    });
  });
});

describe.each(["edge", "all-in-one"] as const)("the image %s, which has the runtime", (name) => {
  it("has certificates of authorities, without which the runtime does not start", () => {
    const { root, config } = images[name];
    const file = config.Env.find((line) => line.startsWith("SSL_CERT_FILE="))?.slice("SSL_CERT_FILE=".length) ?? "";
    expect(readFileSync(join(root, file), "utf8")).toBe(`${rootCertificates.join("\n")}\n`);
  });
});

describe("a health check", () => {
  it("fails while nothing answers", async () => {
    const { code } = await inImage("edge", "node", "infra/containers/health.ts", "http://127.0.0.1:9/health");
    expect(code).toBe(1);
  });
});

describe("all in one", () => {
  it("is ready, answers a chat of the demo, and ends in order", async () => {
    const { command, args, env = {} } = imageCommand(images["all-in-one"], data);
    const own = { ...env, ...LOOPBACK, GATEWAY_METRICS_LISTEN: "127.0.0.1:0", GATEWAY_DASHBOARD_LISTEN: "127.0.0.1:0" };
    const plane = startProgram({ command, args, env: own }, {}, "ready");
    try {
      const at = (await plane.ready) as Record<"data_plane" | "metrics" | "console", string>;
      const [metrics, proxy] = [new URL(at.metrics).origin, new URL(at.data_plane).origin];
      expect((await fetch(`${metrics}/ready`)).status).toBe(200);
      expect((await fetch(at.console)).status).toBe(200);
      const health = ["node", "infra/containers/health.ts", `${metrics}/ready`, `${proxy}/ready`];
      expect(await inImage("all-in-one", ...health)).toEqual({ code: 0, said: "" });
      const answer = await fetch(`${at.data_plane}/chat/completions`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${readFileSync(join(data, "demo-key"), "utf8").trim()}`,
          "content-type": "application/json",
        },
        body: JSON.stringify({ model: "demo", messages: [{ role: "user", content: "Hello" }] }),
      });
      expect({ status: answer.status, body: await answer.json() }).toEqual({
        status: 200,
        body: expect.objectContaining({ object: "chat.completion" }),
      });
      const complaints = plane.lines.filter((line) => /cannot be built|EROFS|read-only/i.test(line));
      expect(complaints).toEqual([]);
    } finally {
      expect(await plane.end()).toBe(0);
    }
    expect(jsonLine(plane.lines.at(-1) ?? "")).toMatchObject({ event: "stopped" });
  });
});

describe("control and edge", () => {
  it("are one gateway over stores that both share", async () => {
    const upstream = await startTestUpstream();
    const planes = await startPlanes(
      { control: imageCommand(images.control, null), edge: imageCommand(images.edge, data) },
      "/var/lib/gateway",
    );
    try {
      const { gateway, metricsUrl } = planes;
      expect((await fetch(`${metricsUrl}/ready`)).status).toBe(200);
      const minted = await gateway.mint(upstream.url);
      const answer = await gateway.chat(minted, { stream: true });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("data: [DONE]");
      const row = await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
      expect(row).toMatchObject({ model: minted.model.model_name, status_code: 200 });
      expect({ edge: await planes.edge.end(), control: await planes.control.end() }).toEqual({ edge: 0, control: 0 });
    } finally {
      await planes.close();
      await upstream.close();
    }
  });
});
