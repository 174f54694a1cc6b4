/**
 * The files in the data folder can be read by their owner alone, and contain no plaintext secret once there is an
 * encryption key (docs/rules/secrets.md#private-files).
 *
 * @module-tag long
 */
import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../harness/gateway.ts";
import { launchReady } from "../harness/launched.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";

const PARTS = ["postgres", "clickhouse", "objects", "worker"];
let dataDir: string;
const umask = process.umask();

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "gateway-private-"));
});
afterEach(() => {
  process.umask(umask);
  rmSync(dataDir, { recursive: true, force: true });
});

/** What is read of a file or folder; null: it is gone. The parts of a running stack remove files and folders. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Every folder and file at or below a path, with its permissions. */
function rightsBelow(path: string): readonly (readonly [path: string, mode: number, isFolder: boolean])[] {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return [];
  const own = [path, entry.mode & 0o777, entry.isDirectory()] as const;
  if (!entry.isDirectory()) return [own];
  const names = unlessGone(() => readdirSync(path)) ?? [];
  return [own, ...names.flatMap((name) => rightsBelow(join(path, name)))];
}

/** The files and folders that another user could read, write or list. */
const open = (): readonly (readonly [string, number, boolean])[] =>
  PARTS.flatMap((part) => rightsBelow(join(dataDir, part))).filter(
    ([, mode, isFolder]) => mode !== (isFolder ? 0o700 : 0o600),
  );

const filesWith = (text: string): readonly string[] =>
  rightsBelow(dataDir)
    .filter(([path, , isFolder]) => !isFolder && unlessGone(() => readFileSync(path))?.includes(text) === true)
    .map(([path]) => path.slice(dataDir.length));

describe("the data folder", () => {
  it("has private folders for its embedded parts under any umask, and removes wider permissions", async () => {
    chmodSync(dataDir, 0o755);
    process.umask(0);
    const upstream = await startTestUpstream();
    for (const _start of ["new", "widened by an older version"]) {
      const stack = await launchReady(dataDir);
      const gateway = new Gateway(stack);
      const minted = await gateway.mint(upstream.url);
      const answer = await gateway.chat(minted);
      await gateway.row(minted.tenant.id, answer.headers.get("x-gateway-request-id"));
      expect(open()).toEqual([]);
      expect(await stack.end("SIGTERM")).toBe(0);
      expect({ open: open(), mode: statSync(dataDir).mode & 0o777 }).toEqual({ open: [], mode: 0o700 });
      expect(PARTS.map((part) => rightsBelow(join(dataDir, part)).length > 1)).toEqual(PARTS.map(() => true));
      for (const part of PARTS)
        for (const [path, , isFolder] of rightsBelow(join(dataDir, part))) chmodSync(path, isFolder ? 0o777 : 0o666);
    }
    await upstream.close();
  });

  it("holds no secret in plaintext any more after the first start with an encryption key", async () => {
    const secret = `plaintext-${randomUUID()}`;
    const later = `later-${randomUUID()}`;
    const first = await launchReady(dataDir);
    const gateway = new Gateway(first);
    const { id } = await gateway.must<{ id: string }>("POST", "/models", {
      model_name: "m",
      api_base: "http://127.0.0.1:9/v1",
      api_key: secret,
    });
    await gateway.must("POST", `/models/${id}/endpoints`, {
      name: "e",
      api_base: "http://127.0.0.1:9/v1",
      api_key: secret,
    });
    await gateway.must("POST", "/mcp-servers", {
      name: "s",
      upstream_url: "http://127.0.0.1:9/mcp",
      auth_header: secret,
    });
    await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: `http://127.0.0.1:9/${secret}` });
    // Overwritten and deleted records are in the files too.
    await gateway.must("POST", "/mcp-servers", {
      name: "gone",
      upstream_url: "http://127.0.0.1:9/mcp",
      auth_header: later,
    });
    const servers = await gateway.must<readonly { id: string; name: string }[]>("GET", "/mcp-servers");
    await gateway.must("DELETE", `/mcp-servers/${servers.find(({ name }) => name === "gone")?.id ?? ""}`);
    expect(await first.end("SIGTERM")).toBe(0);
    expect(filesWith(secret)).not.toEqual([]);
    expect(filesWith(later)).not.toEqual([]);

    const GATEWAY_ENCRYPTION_KEY = randomBytes(32).toString("base64");
    const second = await launchReady(dataDir, { GATEWAY_ENCRYPTION_KEY });
    expect(second.lines.join("\n")).toContain('"event":"plaintext_forgotten"');
    expect({ withSecret: filesWith(secret), withLater: filesWith(later) }).toEqual({
      withSecret: [],
      withLater: [],
    });
    expect(await second.end("SIGKILL")).toBeNull();
    const third = await launchReady(dataDir, { GATEWAY_ENCRYPTION_KEY });
    expect(third.lines.join("\n")).not.toContain("plaintext_forgotten");
    expect(await third.end("SIGTERM")).toBe(0);
    expect({ withSecret: filesWith(secret), withLater: filesWith(later), open: open() }).toEqual({
      withSecret: [],
      withLater: [],
      open: [],
    });
  });
});
