/** Prometheus' own program, reading the metrics of a running gateway with the configuration that the gateway brings. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { startGuard } from "../../infra/local/process/child.ts";
import { scrapeFileSchema } from "./infra/rules-schema.ts";
import { ownPort } from "./own-port.ts";
import { programPath } from "./program-path.ts";
import { startProcess } from "./program-process.ts";

const OURS = join(import.meta.dirname, "../../infra/grafana");

const texts = z.record(z.string(), z.string());
const queryAnswer = z.object({
  data: z.object({ result: z.array(z.object({ metric: texts, value: z.tuple([z.number(), z.string()]) })) }),
});
const ruleSchema = z.object({
  name: z.string(),
  health: z.string(),
  lastError: z.string().optional(),
  state: z.string(),
  alerts: z.array(z.object({ annotations: texts, labels: texts })),
});
const rulesAnswer = z.object({ data: z.object({ groups: z.array(z.object({ rules: z.array(ruleSchema) })) }) });

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/**
 * Starts Prometheus in a folder of its own, with the configuration and the rules that the gateway brings; only the address, the
 * interval and the place of the rules differ. `target`: host and port of the metrics listener; `docs`: where the runbooks are.
 * Throws one line that says how to install the program.
 */
export async function startPrometheus(folder: string, target: string, docs: string) {
  const program = programPath("prometheus");
  if (program === undefined)
    throw new Error("this test needs Prometheus: on Debian and Ubuntu `apt-get install prometheus`");
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "prometheus.yml");
  writeFileSync(config, configurationFor(target, docs));
  copyFileSync(join(OURS, "alerts.yml"), join(folder, "alerts.yml"));
  const address = `127.0.0.1:${await ownPort()}`;
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, "data")}`];
  flags.push(`--web.listen-address=${address}`);
  const guard = startGuard();
  const isReady = (line: string) => (line.includes("Server is ready to receive web requests") ? true : undefined);
  const server = startProcess(program, flags, { cwd: folder }, isReady);
  guard.watch(server.pid);
  const read = async (path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const response = await fetch(`http://${address}${path}?${new URLSearchParams(query).toString()}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${JSON.stringify(query)}: ${text}`);
    return JSON.parse(text);
  };
  await server.ready;
  return {
    /** The result of an instant query. Throws what Prometheus says of a query that it cannot read. */
    query: async (query: string) => queryAnswer.parse(await read("/api/v1/query", { query })).data.result,
    labelValues: async (metric: string, label: string): Promise<readonly string[]> => {
      const answer = await read(`/api/v1/label/${label}/values`, { "match[]": metric });
      return z.object({ data: z.array(z.string()) }).parse(answer).data;
    },
    /** Every rule as it was evaluated last. */
    rules: async () => rulesAnswer.parse(await read("/api/v1/rules")).data.groups.flatMap(({ rules }) => rules),
    stop: async (): Promise<void> => {
      await server.end("SIGKILL");
      guard.forget(server.pid);
      guard.close();
    },
  };
}

function configurationFor(target: string, docs: string): string {
  const ours = scrapeFileSchema.parse(parse(readFileSync(join(OURS, "prometheus.yml"), "utf8")));
  const jobs = ours.scrape_configs.map((job) => ({
    ...job,
    scrape_interval: "1s",
    static_configs: [{ targets: [target] }],
  }));
  return stringify({
    global: { evaluation_interval: "1s", external_labels: { gateway_docs: docs } },
    scrape_configs: jobs,
    rule_files: ours.rule_files,
  });
}
