/**
 * The units of systemd: each starts a service of infra/containers with rights as few as it can have, and with secrets that exist.
 * `npm run test:area -- containers` has systemd itself verify them, where it is installed.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseEnv } from "../../control/env.ts";
import { IMAGES } from "../containers/images.ts";
import { secretTexts } from "../containers/secret-texts.ts";
import { readEdgeEnv } from "../local/edge.ts";
import { readStackEnv } from "../local/env.ts";

const UNITS = globSync("*.service", { cwd: import.meta.dirname }).sort();

/** The settings of a unit: name -> values, in their order. */
function settingsOf(unit: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of readFileSync(join(import.meta.dirname, unit), "utf8").split("\n")) {
    if (/^(#.*|\[(Unit|Service|Socket|Install)\]|)$/.test(line)) continue;
    const at = line.indexOf("=");
    expect({ unit, line, isSetting: at > 0 }).toEqual({ unit, line, isSetting: true });
    const name = line.slice(0, at);
    found.set(name, [...(found.get(name) ?? []), line.slice(at + 1)]);
  }
  return found;
}

/** The variables that a unit sets, with the content of their credentials. */
function variablesOf(settings: ReadonlyMap<string, readonly string[]>): Readonly<Record<string, string>> {
  const secrets = secretTexts(
    (bytes) => Buffer.alloc(bytes, "secret"),
    () => undefined,
  );
  const words = (settings.get("Environment") ?? []).flatMap((line) => line.split(" "));
  return Object.fromEntries(
    words.map((word) => {
      const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(word) ?? [];
      const credential = /^%d\/(.+)$/.exec(value)?.[1];
      if (credential === undefined) return [name, value];
      return [name.replace(/_FILE$/, ""), secrets[credential] ?? `no secret ${credential}`];
    }),
  );
}

describe.each(UNITS)("%s", (unit) => {
  const settings = settingsOf(unit);
  const service = settings.get("ExecStart")?.[0]?.split(" ").at(-1) ?? "";

  it("starts one of the services, and gives it more time to end than it takes", () => {
    expect(IMAGES).toContain(service);
    expect(settings.get("ExecStart")).toEqual([
      `/usr/bin/node /opt/gateway/infra/launch.mjs --omit=dev infra/containers/start.ts ${service}`,
    ]);
    expect(Number(settings.get("TimeoutStopSec")?.[0])).toBeGreaterThanOrEqual(45);
    expect(settings.get("EnvironmentFile")).toEqual([`/etc/gateway/${service}.env`]);
  });

  it.each([
    ["DynamicUser", "yes"],
    ["ProtectSystem", "strict"],
    ["ProtectHome", "yes"],
    ["PrivateTmp", "yes"],
    ["PrivateDevices", "yes"],
    ["NoNewPrivileges", "yes"],
    ["CapabilityBoundingSet", ""],
    ["RestrictNamespaces", "yes"],
    ["RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"],
    ["SystemCallArchitectures", "native"],
    ["KillMode", "mixed"],
    ["UMask", "0077"],
  ])("has %s=%s", (name, value) => {
    expect(settings.get(name)).toEqual([value]);
  });

  it("is given the secrets that it names, and no other", () => {
    const words = (settings.get("Environment") ?? []).flatMap((line) => line.split(" "));
    const named = words.flatMap((word) => /^\w+_FILE=%d\/(.+)$/.exec(word)?.[1] ?? []);
    expect(settings.get("LoadCredential") ?? []).toEqual(named.map((name) => `${name}:/etc/gateway/secrets/${name}`));
  });

  it("writes nothing but its own folder of state", () => {
    expect(settings.get("StateDirectory")).toEqual([unit.replace(/\.service$/, "")]);
    expect(settings.has("ReadWritePaths")).toBe(false);
    const folder = variablesOf(settings)["GATEWAY_DATA_DIR"];
    expect([`/var/lib/${settings.get("StateDirectory")?.[0]}`, undefined]).toContain(folder);
  });
});

describe("gateway.socket", () => {
  it("has the name and the port under which the launcher serves the data plane", () => {
    const settings = settingsOf("gateway.socket");
    const env = {
      LISTEN_PID: String(process.pid),
      LISTEN_FDS: "1",
      LISTEN_FDNAMES: settings.get("FileDescriptorName")?.[0],
    };
    const { handed, proxy } = readStackEnv(env, "/srv");
    expect({ handed: Object.fromEntries(handed), listens: settings.get("ListenStream") }).toEqual({
      handed: { proxy: 3 },
      listens: [`${proxy.host}:${proxy.port}`],
    });
  });
});

describe("the secrets of the units", () => {
  it("are what each service needs, in addition to the addresses of its stores", () => {
    const clickhouse = { GATEWAY_CLICKHOUSE_URL: "http://clickhouse:8123" };
    const control = parseEnv({ ...variablesOf(settingsOf("gateway-control.service")), ...clickhouse });
    const edge = readEdgeEnv(
      {
        ...variablesOf(settingsOf("gateway-edge.service")),
        ...clickhouse,
        GATEWAY_INTERNAL_BASE_URL: "http://control:9180",
      },
      "/srv",
    );
    expect(edge).toMatchObject({ internalToken: control.internalToken, adminToken: undefined });
  });
});
