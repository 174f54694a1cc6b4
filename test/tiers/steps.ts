/**
 * Every step of the three tiers and of the areas, and the order in which each tier runs them. A tier is a list of phases. The lanes
 * of a phase run at the same time, so that steps that compute run beside steps that wait. The steps of a lane run one after another.
 */

/** A program that a step needs and that no npm package has. */
export type Program = "chromium" | "cc" | "prometheus" | "caddy" | "nginx";

export interface Step {
  readonly name: string;
  /** What infra/launch.mjs runs: a script or tool, and its arguments. Or npm, and its arguments. */
  readonly run: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly needs?: readonly Program[];
}

export type Lane = readonly Step[];
export type Phase = readonly Lane[];

const vitest = (name: string, projects: readonly string[], more: Omit<Partial<Step>, "name" | "run"> = {}): Step => ({
  name,
  run: ["vitest", "run", ...projects.flatMap((project) => ["--project", project])],
  ...more,
});

/** A project whose tests are split over the tiers by their tags (vitest.config.ts). */
const tagged = (
  tier: "test" | "check" | "release",
  name: string,
  projects: readonly string[],
  needs: readonly Program[] = [],
): Step => vitest(name, projects, { needs, env: { TEST_TIER: tier, TEST_WORKERS: tier === "check" ? "2" : "1" } });

const only = (step: Step): Phase => [[step]];

/** A step that a machine may be unable to run: then it is skipped. As an area, which somebody asked for, it fails instead. */
const wherePossible = (step: Step): Step => ({ ...step, run: [...step.run, "--where-possible"] });
const BROWSER = { needs: ["chromium"] } as const;

const cluster = vitest("cluster", ["cluster"], { needs: ["cc"] });
const slurm: Step = { name: "slurm", run: ["test/slurm/main.ts"] };
const fronts = vitest("fronts", ["fronts"], { needs: ["caddy", "nginx"] });
const containers: Step = { name: "containers", run: ["test/containers/main.ts"] };
const compose: Step = { name: "compose", run: ["test/containers/compose/main.ts"] };
const upgrades = vitest("upgrades", ["upgrades"]);
const browser = vitest("browser", ["browser"], BROWSER);
const postgres = vitest("postgres", ["postgres"]);
const neon = vitest("neon", ["neon"]);
const properties = vitest("properties", ["properties"]);
const saturation = vitest("saturation", ["saturation"]);
const soak: Step = { name: "soak", run: ["test/soak/main.ts"] };
const MODEL = "test/reference-model/main.ts";
const modelFor = (minutes: number, ...more: readonly string[]): Step => ({
  name: "reference model",
  run: [MODEL, "--minutes", String(minutes), "--faults", ...more],
});
const model = modelFor(10);
const workflows: Step = { name: "workflows", run: ["test/workflows/main.ts"] };
const clients: Step = { name: "clients", run: ["test/clients/main.ts"] };
const servers: Step = { name: "servers", run: ["test/servers/main.ts"] };
const chart: Step = { name: "chart", run: ["infra/helm/render.ts", "--check"] };
const TEST: readonly Phase[] = [
  [[tagged("test", "units", ["unit", "objects"])], [tagged("test", "specification, faults", ["spec", "faults"])]],
];

const CHECK: readonly Phase[] = [
  ...TEST,
  [
    [
      { name: "format", run: ["biome", "check", "."] },
      { name: "types", run: ["infra/types.ts"] },
      { name: "build", run: ["infra/bundle.ts"] },
      { name: "deploy:check", run: ["npm", "run", "--silent", "deploy:check"] },
      tagged("check", "units, rest", ["unit", "objects"]),
    ],
    [tagged("check", "specification, faults, rest", ["spec", "faults"]), postgres],
  ],
  // Half of the model's run waits for rows and for checks against the ledger. One seed, so that CI tests the change; others are drawn at length.
  [
    [vitest("browser, main walks", ["browser"], { ...BROWSER, env: { TEST_TIER: "check" } })],
    [{ name: "lint", run: ["npm", "run", "--silent", "lint"] }, modelFor(1, "--seed", "1")],
  ],
];

const RELEASE: readonly Phase[] = [
  [
    [
      tagged("release", "long: units", ["unit", "objects"]),
      properties,
      neon,
      wherePossible(workflows),
      wherePossible(chart),
      wherePossible(clients),
    ],
    [tagged("release", "long: specification, faults", ["spec", "faults"], ["prometheus"])],
  ],
  // The console's tests leave a part of the processor; what starts whole gateways, or installs what it needs, waits most of its time.
  [
    [browser],
    [cluster, upgrades, fronts],
    [wherePossible(slurm), wherePossible(containers), wherePossible(compose), wherePossible(servers)],
  ],
  only(saturation),
  // The first counts memory per call, the second differences; both leave most of the processor.
  [[soak], [model]],
];

export const TIERS: Readonly<Record<string, readonly Phase[]>> = { test: TEST, check: CHECK, release: RELEASE };

/** What `npm run test:area -- NAME` runs; the first steps take further arguments. */
export const AREAS: Readonly<Record<string, readonly Step[]>> = {
  cluster: [cluster],
  slurm: [slurm],
  fronts: [fronts],
  containers: [containers, compose],
  upgrades: [upgrades],
  browser: [browser],
  database: [postgres, neon],
  clients: [clients],
  servers: [servers],
  soak: [soak],
  model: [model],
  properties: [properties],
};
