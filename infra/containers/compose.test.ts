/**
 * compose.yaml and its overlay: every image is pinned, every service has a health check, no secret is in the file or has a
 * default, every mounted file exists, and both planes start with their variables. No container engine is used: tests have none.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { parseEnv } from "../../control/env.ts";
import { readEdgeEnv } from "../local/edge.ts";
import { secretTexts } from "./secret-texts.ts";

const dependsOn = z.record(z.string(), z.strictObject({ condition: z.string() }));
const serviceSchema = z.strictObject({
  image: z.string().optional(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string(), target: z.string() }).optional(),
  restart: z.literal("unless-stopped").optional(),
  init: z.literal(true).optional(),
  read_only: z.literal(true).optional(),
  cap_drop: z.tuple([z.literal("ALL")]).optional(),
  security_opt: z.tuple([z.literal("no-new-privileges:true")]).optional(),
  tmpfs: z.array(z.string()).optional(),
  networks: z.union([z.array(z.string()), z.record(z.string(), z.object({ aliases: z.array(z.string()) }))]).optional(),
  extra_hosts: z.tuple([z.literal("host.docker.internal:host-gateway")]).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  secrets: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  depends_on: dependsOn.optional(),
  ulimits: z.object({}).optional(),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()).min(2),
      interval: z.string(),
      timeout: z.string(),
      retries: z.number(),
      start_period: z.string(),
    })
    .optional(),
});
type Service = z.infer<typeof serviceSchema>;
const fileSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
});

/** `!override` is compose's own: the value replaces the value of the file before. */
const customTags = [
  { tag: "!override", collection: "seq" as const },
  { tag: "!override", collection: "map" as const },
].map(({ tag, collection }) => ({ tag, collection, resolve: (value: unknown) => value as never }));
const read = (name: string) =>
  fileSchema.parse(parse(readFileSync(join(import.meta.dirname, name), "utf8"), { merge: true, customTags }));

const single = read("compose.yaml");
const overlay = read("compose.cluster.yaml");
const services: readonly (readonly [string, Service])[] = [
  ...Object.entries(single.services),
  ...Object.entries(overlay.services).filter(([name]) => !(name in single.services)),
];
const secretFiles = { ...single.secrets, ...overlay.secrets };
const texts = secretTexts(
  (bytes) => Buffer.alloc(bytes, "secret"),
  () => undefined,
);

/** The variables that a service gets, with the content of its secrets. */
function variablesOf({ environment = {} }: Service): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => {
      if (value.startsWith("/run/secrets/")) return [name.replace(/_FILE$/, ""), texts[value.slice(13)] ?? "missing"];
      return [name, value.replace(/^\$\{\w+:-(.*)\}$/, "$1")];
    }),
  );
}

const must = (service: Service | undefined): Service => {
  if (service === undefined) throw new Error("there is no such service");
  return service;
};

describe("every service", () => {
  it.each(services)("%s has a pinned image, a network, and no new rights", (_, service) => {
    expect(service.image).toMatch(/^(?:[\w.-]+\/)+[\w-]+:(?:[A-Z.]*v?\d+[\w.:-]+|\$\{GATEWAY_VERSION:-local\})$/);
    expect([["planes"], { planes: { aliases: ["instances"] } }]).toContainEqual(service.networks);
  });

  it.each(services.filter(([, { restart }]) => restart !== undefined))("%s is asked for its health", (_, service) => {
    const isOwn = service.image?.startsWith("inference-gateway/") === true;
    expect(service.security_opt).toEqual(["no-new-privileges:true"]);
    // the images of the gateway bring their own check
    const own = { read_only: true, init: true, cap_drop: ["ALL"], extra_hosts: ["host.docker.internal:host-gateway"] };
    if (isOwn) expect(service).toMatchObject(own);
    else expect(service.healthcheck).toBeDefined();
  });

  it.each(services)(
    "%s has its secrets in files that it is given, and publishes to this machine alone",
    (_, service) => {
      const { environment = {}, secrets = [], ports = [], command = [], entrypoint = [] } = service;
      const named = [...Object.values(environment), ...command, ...entrypoint].join(" ");
      const used = [...named.matchAll(/\/run\/secrets\/([\w.-]+)/g)].map(([, name]) => name ?? "");
      expect(used.filter((name) => !secrets.includes(name))).toEqual([]);
      // a secret that starts with a dash would be an option
      expect(named).not.toMatch(/ "?\$\$\(cat/);
      const inWords = Object.entries(environment).filter(
        ([name, value]) =>
          /TOKEN|PASSWORD|SECRET|KEY|PEPPER|DATABASE_URL|REDIS_URL/.test(name) && !value.startsWith("/run/"),
      );
      expect(inWords).toEqual([]);
      expect(ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
    },
  );

  it.each(services)("%s mounts what exists, and waits for services that say when they are healthy", (_, service) => {
    const sources = (service.volumes ?? []).map((volume) => volume.split(":", 1)[0] ?? "");
    const missing = sources.filter((source) =>
      source.startsWith(".")
        ? !existsSync(join(import.meta.dirname, source))
        : !(source in { ...single.volumes, ...overlay.volumes }),
    );
    expect(missing).toEqual([]);
    const known = new Set(services.map(([name]) => name));
    expect(Object.keys(service.depends_on ?? {}).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("the secrets", () => {
  it("are all made, none twice, and fit each other", () => {
    for (const [name, { file }] of Object.entries(secretFiles))
      expect({ name, file }).toEqual({ name, file: `./secrets/${name}` });
    expect(Object.keys(secretFiles).filter((name) => !(name in texts))).toEqual([]);
    expect(Object.keys(texts).filter((name) => !(name in secretFiles))).toEqual([]);
    const asked: number[] = [];
    const made = secretTexts(
      (bytes) => Buffer.alloc(bytes, String(asked.push(bytes))),
      (name) => (name === "valkey-password" ? "kept" : undefined),
    );
    expect(made["redis-url"]).toBe("redis://:kept@valkey:6379");
    expect(made["valkey.conf"]).toBe("requirepass kept");
    expect(made["database-url"]).toContain(`:${made["postgres-password"]}@`);
    expect(made["admin-token"]).not.toBe(made["internal-token"]);
  });
});

describe("the planes", () => {
  const control = parseEnv(variablesOf(must(single.services["control"])));
  const clickhouse = must(single.services["clickhouse"]);

  it("start with what they get, and reach each other by name", () => {
    const edge = readEdgeEnv(variablesOf(must(single.services["edge"])), "/srv");
    expect(control).toMatchObject({ cells: [{ url: "http://edge:8080" }], clickhouse: { user: "gateway" } });
    expect(clickhouse.environment?.["CLICKHOUSE_USER"]).toBe("gateway");
    expect({ cluster: edge.cluster, adminToken: edge.adminToken, internalToken: edge.internalToken }).toEqual({
      cluster: null,
      adminToken: undefined,
      internalToken: control.internalToken,
    });
  });

  it("are three instances of one cluster in the overlay", () => {
    const instances = Object.entries(overlay.services).filter(([name]) => name.startsWith("edge"));
    const clusters = instances.map(
      ([name, service]) => [name, readEdgeEnv(variablesOf(service), "/srv").cluster] as const,
    );
    expect(clusters.map(([name, cluster]) => [name, cluster?.advertise])).toEqual(
      ["edge", "edge-2", "edge-3"].map((name) => [name, `${name}:7000`]),
    );
    expect(new Set(clusters.map(([, cluster]) => `${cluster?.bucket} ${cluster?.key}`)).size).toBe(1);
    for (const [, service] of instances) {
      expect(service.volumes ?? []).toEqual([]);
      expect(service.networks).toEqual({ planes: { aliases: ["instances"] } });
    }
    expect(overlay.services["control"]?.environment).toEqual({ GATEWAY_EDGE_BASE_URL: "http://instances:8080" });
  });
});

const yaml = (name: string): unknown => parse(readFileSync(join(import.meta.dirname, name), "utf8"));

it("the overlay of the trace export gives the data plane its headers from a secret", () => {
  const file = yaml("compose.otel.yaml") as { services: { edge: Service }; secrets: object };
  const { environment = {}, secrets = [] } = file.services.edge;
  expect({ service: serviceSchema.safeParse(file.services.edge).success, secrets: file.secrets }).toEqual({
    service: true,
    secrets: Object.fromEntries(secrets.map((name) => [name, { file: `./secrets/${name}` }])),
  });
  expect(environment["GATEWAY_OTEL_HEADERS_FILE"]).toBe(`/run/secrets/${secrets[0]}`);
});

describe("Prometheus and Grafana", () => {
  it("read the rules and the dashboard of the repository", () => {
    expect(yaml("prometheus.yml")).toEqual({
      ...(yaml("../grafana/prometheus.yml") as object),
      scrape_configs: [
        { job_name: "gateway", scrape_interval: "15s", static_configs: [{ targets: ["control:9091"] }] },
      ],
    });
    expect(yaml("grafana/datasource.yaml")).toMatchObject({
      datasources: [{ url: "http://prometheus:9090", isDefault: true }],
    });
    const folder = (yaml("grafana/dashboards.yaml") as { providers: { options: { path: string } }[] }).providers[0];
    const mounted = must(single.services["grafana"]).volumes ?? [];
    expect(mounted).toContain(`../grafana/dashboard.json:${folder?.options.path}/gateway.json:ro`);
  });
});
