/**
 * The chart, as Helm has rendered it: every object is one that Kubernetes knows, with no unknown field, and keeps the promises
 * of the images. `npm run chart -- --check` renders it again, where Helm can be had.
 *
 * @module-tag check
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Schema, validate } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { parseEnv } from "../../control/env.ts";
import { secretTexts } from "../containers/secret-texts.ts";
import { readEdgeEnv } from "../local/edge.ts";
import { chartDigest, RENDERED } from "./helm.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The parts examined here; the types of Kubernetes check the rest. */
const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()) }),
});
type KubernetesObject = z.infer<typeof objectSchema>;

const variable = z.strictObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .union([
      z.strictObject({
        secretKeyRef: z.strictObject({
          name: z.literal("gateway"),
          key: z.string(),
          optional: z.literal(true).optional(),
        }),
      }),
      z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal("status.podIP") }) }),
    ])
    .optional(),
});
/**
 * A workload of the gateway: nothing runs as root, nothing is written outside volumes, and the container has every kind of
 * probe.
 */
const workloadSchema = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.looseObject({
          runAsNonRoot: z.literal(true),
          runAsUser: z.literal(10_001),
          seccompProfile: z.strictObject({ type: z.literal("RuntimeDefault") }),
        }),
        terminationGracePeriodSeconds: z.number().min(45),
        containers: z.tuple([
          z.looseObject({
            image: z.string().regex(/^registry\.example\/gateway\/(control|edge):\d+\.\d+\.\d+$/),
            securityContext: z.strictObject({
              allowPrivilegeEscalation: z.literal(false),
              readOnlyRootFilesystem: z.literal(true),
              capabilities: z.strictObject({ drop: z.tuple([z.literal("ALL")]) }),
            }),
            env: z.array(variable),
            startupProbe: z.object({}),
            readinessProbe: z.object({}),
            livenessProbe: z.object({}),
            resources: z.looseObject({ requests: z.object({}), limits: z.object({}) }),
          }),
        ]),
      }),
    }),
  }),
});

const rendered = new Map(
  RENDERED.map((name) => {
    const text = readFileSync(join(import.meta.dirname, `testing/rendered/${name}.yaml`), "utf8");
    const documents = parseAllDocuments(text).map((document) => document.toJS() as unknown);
    return [name, { text, objects: documents.filter((each) => each !== null).map((each) => objectSchema.parse(each)) }];
  }),
);
const objectsOf = (name: (typeof RENDERED)[number]): readonly KubernetesObject[] => rendered.get(name)?.objects ?? [];
const named = (name: (typeof RENDERED)[number], kind: string, suffix = ""): KubernetesObject | undefined =>
  objectsOf(name).find((object) => object.kind === kind && object.metadata.name === `gw${suffix}`);

/** The module of `kubernetes-models` with a kind; null: the kind is not Kubernetes' own. */
function moduleOf({ apiVersion, kind }: KubernetesObject): string | null {
  return apiVersion.startsWith("monitoring.coreos.com/") ? null : `kubernetes-models/${apiVersion}/${kind}`;
}

/** The variables of a container, with the texts of the secrets that they refer to. */
function variablesOf(workload: KubernetesObject | undefined): Readonly<Record<string, string>> {
  const secrets = secretTexts(
    (bytes) => Buffer.alloc(bytes, "secret"),
    () => undefined,
  );
  const { env } = workloadSchema.parse(workload).spec.template.spec.containers[0];
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return [name, (value ?? "").replace("$(POD_IP)", "10.0.0.1")];
      return [name, "secretKeyRef" in valueFrom ? (secrets[valueFrom.secretKeyRef.key] ?? "") : "10.0.0.1"];
    }),
  );
}

describe("the default values", () => {
  it("satisfy the schema of the chart, so that helm lint passes on them", () => {
    const textOf = (file: string): string => readFileSync(join(import.meta.dirname, "gateway", file), "utf8");
    const schema = JSON.parse(textOf("values.schema.json")) as Schema;
    expect(validate(parse(textOf("values.yaml")), schema, "7", undefined, false).errors).toEqual([]);
  });
});

describe("the rendered chart", () => {
  it("is that of the chart in this repository", () => {
    for (const { text } of rendered.values())
      expect(text.split("\n", 1)[0], "run `npm run chart`").toBe(`# Rendered by \`npm run chart\`. ${chartDigest()}`);
  });

  it("has the version of package.json", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
    expect(readFileSync(join(import.meta.dirname, "gateway/Chart.yaml"), "utf8")).toContain(
      `\nappVersion: ${version}\n`,
    );
  });

  it("is accepted by the schemas of Kubernetes", async () => {
    for (const object of RENDERED.flatMap(objectsOf)) {
      const path = moduleOf(object);
      if (path === null) continue;
      const models = (await import(path)) as Record<string, new (data: unknown) => { validate(): void }>;
      const Model = models[object.kind];
      expect(Model, path).toBeDefined();
      if (Model !== undefined) new Model(object).validate();
    }
  });

  it("has no field that the types of Kubernetes do not know", () => {
    // within the repository, so that the compiler finds the types
    const folder = mkdtempSync(join(ROOT, "node_modules/.cache-chart-"));
    try {
      const lines = RENDERED.flatMap((name) => objectsOf(name)).flatMap((object, at) => {
        const path = moduleOf(object);
        if (path === null) return [];
        return [
          `import type { I${object.kind} as T${at} } from "${path}";`,
          `export const object${at}: T${at} = ${JSON.stringify(object)};`,
        ];
      });
      writeFileSync(join(folder, "objects.ts"), lines.join("\n"));
      const flags = [
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--module",
        "nodenext",
        "--target",
        "es2024",
        "--types",
        "",
      ];
      const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
      const { status, stdout } = spawnSync(process.execPath, [compiler, ...flags, join(folder, "objects.ts")], {
        encoding: "utf8",
      });
      expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("runs every workload without rights", () => {
    const workloads = RENDERED.flatMap(objectsOf).filter(({ kind }) => ["Deployment", "StatefulSet"].includes(kind));
    expect(workloads).toHaveLength(4);
    for (const workload of workloads) workloadSchema.parse(workload);
  });

  it("has variables with which both planes start, and no secret but by reference", () => {
    for (const name of RENDERED) {
      const control = parseEnv(variablesOf(named(name, "Deployment", "-control")));
      expect(control).toMatchObject({ cells: [{ url: "http://gw-edge:8080" }], clickhouse: { user: "gateway" } });
      const edge = readEdgeEnv(variablesOf(named(name, "StatefulSet", "-edge")), "/srv");
      expect(edge.cluster?.listen).toBe(name === "cluster" ? "10.0.0.1:7000" : undefined);
      expect(edge.internalToken).toBe(control.internalToken);
      expect(edge.adminToken).toBeUndefined();
      expect("GATEWAY_OTEL_HEADERS" in variablesOf(named(name, "StatefulSet", "-edge"))).toBe(name === "cluster");
    }
  });

  it("keeps one instance's objects on a disk of one pod, and those of a cluster in the bucket", () => {
    expect(named("single", "StatefulSet", "-edge")).toMatchObject({
      spec: { replicas: 1, volumeClaimTemplates: [{ spec: { accessModes: ["ReadWriteOncePod"] } }] },
    });
    expect(named("cluster", "StatefulSet", "-edge")).toMatchObject({
      spec: { replicas: 3, podManagementPolicy: "Parallel" },
    });
    expect(named("cluster", "StatefulSet", "-edge")?.["spec"]).not.toHaveProperty("volumeClaimTemplates");
  });

  it("lets one instance at a time be drained, and only instances reach the port between them", () => {
    for (const plane of ["-control", "-edge"])
      expect(named("cluster", "PodDisruptionBudget", plane)).toMatchObject({ spec: { maxUnavailable: 1 } });
    expect(objectsOf("single").filter(({ kind }) => kind === "PodDisruptionBudget")).toHaveLength(1);
    const edge = { "app.kubernetes.io/component": "edge" };
    expect(named("cluster", "NetworkPolicy", "-edge")).toMatchObject({
      spec: {
        policyTypes: ["Ingress"],
        ingress: [{}, { from: [{ podSelector: { matchLabels: edge } }], ports: [{ port: "instances" }] }],
      },
    });
  });

  it("is scraped as the job that the dashboard and the rules name", () => {
    expect(named("cluster", "ServiceMonitor")).toMatchObject({
      metadata: { labels: { release: "prometheus" } },
      spec: {
        selector: { matchLabels: { "app.kubernetes.io/component": "control" } },
        endpoints: [{ port: "metrics", relabelings: [{ targetLabel: "job", replacement: "gateway" }] }],
      },
    });
    expect(objectsOf("single").some(({ kind }) => kind === "ServiceMonitor")).toBe(false);
  });
});
