import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ALWAYS_BLOCKED_CIDRS } from "../../../shared/network/ssrf.ts";
import { textLiteral, workerdConfig } from "./config.ts";
import { reachableUpstreams } from "./reachable.ts";

it("binds the classes that the module exports, and no others", () => {
  const config = workerdConfig({
    exports: ["default", "Cell", "Other"],
    variables: ["GATEWAY_CELL"],
    objectsFolder: "/data/o",
    reachableUpstreams: null,
  });
  expect(config).toContain('(name = "CELL", durableObjectNamespace = "Cell")');
  expect(config).toContain(
    '(className = "Cell", uniqueKey = "gateway-Cell", enableSql = true, preventEviction = true)',
  );
  expect(config).toContain('durableObjectStorage = (localDisk = "objects")');
  expect(config).not.toMatch(/Ledger|TenantBudget|Other/);
  expect(
    workerdConfig({ exports: ["default"], variables: [], objectsFolder: "/o", reachableUpstreams: null }),
  ).not.toContain("durableObjectStorage");
});

it("takes values from the environment and keeps link-local addresses out of reach", () => {
  const config = workerdConfig({
    exports: ["default"],
    variables: ["GATEWAY_REDIS_TOKEN"],
    objectsFolder: "/o",
    reachableUpstreams: null,
  });
  expect(config).toContain('(name = "GATEWAY_REDIS_TOKEN", fromEnvironment = "GATEWAY_REDIS_TOKEN")');
  expect(config).toMatch(/deny = \[[^\]]*"169\.254\.0\.0\/16"/);
  expect(config).toContain('address = "127.0.0.1:0"');
});

it("runs V8 with a nursery as large as a gateway needs", () => {
  const options = { exports: ["default"], variables: [], objectsFolder: "/o", reachableUpstreams: null };
  expect(workerdConfig(options)).toContain('v8Flags = ["--min-semi-space-size=16", "--max-semi-space-size=32"]');
});

it("gives registered upstreams a separate network when private ones are blocked", () => {
  const bindings = {
    GATEWAY_BLOCK_PRIVATE_NETWORKS: "1",
    GATEWAY_ALLOWED_PRIVATE_CIDRS: "127.0.0.0/8, 169.254.0.0/16",
  };
  expect(reachableUpstreams(bindings)).toEqual(["public", "127.0.0.0/8"]);
  expect(reachableUpstreams({ GATEWAY_ALLOWED_PRIVATE_CIDRS: "127.0.0.0/8" })).toBeNull();
  const config = (reachable: readonly string[] | null): string =>
    workerdConfig({ exports: ["default"], variables: [], objectsFolder: "/o", reachableUpstreams: reachable });
  expect(config(["public", "127.0.0.0/8"])).toMatch(
    /name = "upstreams", network = \(\s*allow = \["public", "127.0.0.0\/8", "64:ff9b::7f00:0\/104", [^\]]*\], deny = \[[^\]]*"169\.254\.0\.0\/16"/,
  );
  expect(config(["public"])).toContain('(name = "UPSTREAMS", service = "upstreams")');
  expect(config(null)).not.toMatch(/upstreams/i);
});

it("escapes text", () => {
  expect(textLiteral('a "b" \\ ü\n')).toBe('"a \\"b\\" \\\\ \\xc3\\xbc\\x0a"');
});

it("agrees with the configuration of the deployment", () => {
  const wrangler = readFileSync(new URL("../../../wrangler.toml", import.meta.url), "utf8");
  const date = /^compatibility_date = "(.+)"$/m.exec(wrangler)?.[1];
  const flags = /^compatibility_flags = \[(.+)\]$/m.exec(wrangler)?.[1];
  const bound = [...wrangler.matchAll(/^name = "(\w+)"\nclass_name = "(\w+)"$/gm)];
  const config = workerdConfig({
    exports: bound.map(([, , name]) => String(name)),
    variables: [],
    objectsFolder: "/o",
    reachableUpstreams: null,
  });
  expect(config).toContain(`compatibilityDate = "${date}"`);
  expect(config).toContain(`compatibilityFlags = [${flags}]`);
  expect(bound.length).toBeGreaterThanOrEqual(2);
  for (const [, binding, name] of bound) {
    expect(config).toContain(`(name = "${binding}", durableObjectNamespace = "${name}")`);
  }
});

it("gives each further cell a Worker and a socket of its own, and the objects of the first", () => {
  const config = workerdConfig({
    exports: ["default", "Cell", "Ledger"],
    variables: ["GATEWAY_CELL", "GATEWAY_CELLS"],
    objectsFolder: "/o",
    reachableUpstreams: null,
    moreCells: ["second"],
  });
  const [, second = ""] = config.split("const cell0");
  expect(config).toContain('(name = "http-second", address = "127.0.0.1:0", http = (), service = "gateway-second")');
  expect(second).toContain('(name = "GATEWAY_CELL", text = "second")');
  expect(second).toContain('(name = "GATEWAY_CELLS", fromEnvironment = "GATEWAY_CELLS")');
  expect(second).toContain(
    '(name = "LEDGER", durableObjectNamespace = (className = "Ledger", serviceName = "gateway"))',
  );
  expect(second).not.toMatch(/fromEnvironment = "GATEWAY_CELL"|uniqueKey|durableObjectStorage/);
});

it("denies always-blocked addresses to every network, also when an IPv6 address leads there", () => {
  const denied = (reachable: readonly string[] | null): readonly (readonly string[])[] => {
    const options = { exports: ["default"], variables: [], objectsFolder: "/o", reachableUpstreams: reachable };
    return [...workerdConfig(options).matchAll(/deny = \[([^\]]*)\]/g)].map(([, list = ""]) =>
      list.replaceAll('"', "").split(", "),
    );
  };
  const [internet = []] = denied(null);
  const [same = [], upstreams = []] = denied(["public", "127.0.0.0/8"]);
  for (const list of [internet, same, upstreams]) {
    expect(list).toEqual(expect.arrayContaining([...ALWAYS_BLOCKED_CIDRS]));
    for (const carried of ["64:ff9b::a9fe:0/112", "2002:a9fe::/32", "::a9fe:0/112", "64:ff9b::6464:64c8/128"])
      expect(list).toContain(carried);
  }
  expect(upstreams).toContain("64:ff9b::a00:0/104");
  // the runtime's own "public" has this one
  expect(upstreams).toContain("198.18.0.0/15");
  expect(upstreams).not.toContain("127.0.0.0/8");
  expect(upstreams).not.toContain("64:ff9b::7f00:0/104");
  expect(internet).not.toContain("64:ff9b::a00:0/104");
});

describe("several processes", () => {
  const options = {
    exports: ["default", "Cell", "Ledger", "TenantBudget", "Objects"],
    variables: ["GATEWAY_CELL"],
    objectsFolder: "/data/o",
    reachableUpstreams: null,
    moreCells: ["second"],
  };
  const rpc = 'address = "unix:objects.sock", http = (capnpConnectHost = "objects")';

  it("keep their objects in one process that serves no cell, behind a socket for its owner only", () => {
    const config = workerdConfig({ ...options, role: "objects" });
    expect(config).toContain(`(name = "objects", ${rpc}, service = (name = "gateway", entrypoint = "Objects"))`);
    expect(config).toContain('durableObjectStorage = (localDisk = "objects")');
    expect(config).not.toMatch(/second|external/);
  });

  it("have no objects in the other processes, which serve every cell", () => {
    const config = workerdConfig({ ...options, role: "requests" });
    expect(config).toContain(`(name = "objects", external = (${rpc}))`);
    expect(config.match(/\(name = "OBJECTS", service = "objects"\)/g)).toHaveLength(2);
    expect(config).toContain('(name = "http-second", address = "127.0.0.1:0", http = (), service = "gateway-second")');
    expect(config).not.toMatch(/durableObjectNamespace =|className|durableObjectStorage|entrypoint|disk/);
  });

  it("exist only when they are configured", () => {
    expect(workerdConfig(options)).toBe(workerdConfig({ ...options, role: "everything" }));
    expect(workerdConfig(options)).not.toMatch(/OBJECTS|capnpConnectHost|unix:/);
  });
});
