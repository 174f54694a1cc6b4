/**
 * What the control service does on a schedule: every job, how often it runs, and whether on one replica or on each.
 */
import type { AlertPull } from "./alerts/alert-pull.ts";
import type { AlertSender } from "./alerts/alert-sender.ts";
import { watchDisks } from "./alerts/disk-watch.ts";
import type { ExpiryWatch } from "./alerts/expiry-watch.ts";
import type { OutboxWatch } from "./alerts/outbox-watch.ts";
import type { QueueWatch } from "./alerts/queue-watch.ts";
import type { BackupSchedule } from "./backup/backup-schedule.ts";
import { resealSecrets } from "./backup/seal-plain-secrets.ts";
import type { BatchRuns } from "./batches/batch-runs.ts";
import type { ContentsSweep } from "./batches/files/contents-sweep.ts";
import type { PowerPoll } from "./energy/power-poll.ts";
import type { ControlEnv } from "./env.ts";
import type { composeHealth } from "./health/compose-health.ts";
import { pruneChecks } from "./health/prune-checks.ts";
import type { VerbContext } from "./kernel/context.ts";
import type { Job } from "./kernel/jobs/jobs.ts";
import type { Logger } from "./kernel/log.ts";
import { endConsoleKeys } from "./keys/end-console-keys.ts";
import { forgetEndedSecrets } from "./keys/forget-ended-secrets.ts";
import type { BenchmarkRuns } from "./models/benchmarks/benchmark-runs.ts";
import type { RunningProvisioner } from "./provisioner/compose-provisioner.ts";
import type { ProvisionerWatch } from "./provisioner/jobsched/provisioner-watch.ts";
import type { FillWatch } from "./publish/fill-watch.ts";
import type { OutboxPublisher } from "./publish/outbox-publisher.ts";
import type { Resync } from "./publish/resync.ts";
import type { startSync } from "./publish/sync-at-start.ts";
import type { AnalyticsStore } from "./usage/analytics/store.ts";
import { pruneUsage } from "./usage/compact-usage.ts";
import { watchSchema } from "./usage/schema-watch.ts";

const OUTBOX_EVERY_MS = 1000;
const FILL_EVERY_MS = 2000;
const OUTBOX_WATCH_EVERY_MS = 10_000;
const QUEUE_WATCH_EVERY_MS = 10_000;
const FAILURES_EVERY_MS = 15_000;
const PROVISIONER_WATCH_EVERY_MS = 15_000;
const BENCHMARKS_EVERY_MS = 10_000;
const BATCHES_EVERY_MS = 1000;
const CONTENTS_EVERY_MS = 60_000;
const BUDGETS_EVERY_MS = 10_000;
const COMPARE_EVERY_MS = 300_000;
const EXPIRY_EVERY_MS = 3_600_000;
const PRUNE_EVERY_MS = 3_600_000;
const ENDED_SECRETS_EVERY_MS = 60_000;
const CONSOLE_KEYS_EVERY_MS = 15_000;
const RESEAL_EVERY_MS = 60_000;
const ANALYTICS_EVERY_MS = 2000;
const SCHEMA_WATCH_EVERY_MS = 30_000;
const DISK_WATCH_EVERY_MS = 30_000;
const RETENTION_EVERY_MS = 3_600_000;
const ALERTS_EVERY_MS = 3000;
/** A message leaves this long after its cooldown at the latest. */
const MESSAGES_EVERY_MS = 1000;
/** How often it is looked whether the power is to be read; the settings say how often it is. */
const POWER_EVERY_MS = 1000;
const HEALTH_EVERY_MS = 30_000;
/** How often it is looked whether a backup is due. */
const BACKUP_EVERY_MS = 30_000;

interface JobParts {
  readonly batches: BatchRuns;
  /** Null: no contents are in a bucket. */
  readonly contents: ContentsSweep | null;
  readonly env: Pick<ControlEnv, "cell" | "dataFolders" | "modelHealth" | "usageRetentionDays" | "provisioner">;
  readonly ctx: VerbContext;
  readonly log: Logger;
  readonly publisher: OutboxPublisher;
  readonly resync: Resync;
  readonly analytics: AnalyticsStore;
  readonly fill: FillWatch;
  readonly sync: ReturnType<typeof startSync>;
  readonly watch: OutboxWatch;
  readonly queues: QueueWatch;
  readonly expiry: ExpiryWatch;
  readonly alerts: AlertPull;
  readonly sink: AlertSender;
  readonly power: PowerPoll;
  readonly backup: BackupSchedule;
  readonly health: ReturnType<typeof composeHealth>;
  readonly benchmarks: BenchmarkRuns;
  readonly provisionerWatch: ProvisionerWatch;
  readonly provisioner: RunningProvisioner;
}

/** The jobs of these parts; models are checked only where the environment says so. */
export function scheduledJobs(parts: JobParts): readonly Job[] {
  const {
    env,
    ctx,
    log,
    publisher,
    resync,
    analytics,
    fill,
    sync,
    watch,
    queues,
    expiry,
    alerts,
    sink,
    power,
    backup,
    health,
    benchmarks,
    batches,
    contents,
    provisionerWatch,
    provisioner,
  } = parts;
  return [
    {
      name: "outbox",
      replicas: "one",
      everyMs: OUTBOX_EVERY_MS,
      run: async () => ({ pending: await publisher.publishDue(new Date()) }),
    },
    {
      name: "analytics_schema",
      replicas: "each",
      everyMs: ANALYTICS_EVERY_MS,
      run: async () => await analytics.migrate(),
    },
    {
      name: "schema_watch",
      replicas: "one",
      everyMs: SCHEMA_WATCH_EVERY_MS,
      run: async () => await watchSchema(analytics, sink, env.cell, Date.now()),
    },
    {
      name: "disk_watch",
      replicas: "each",
      everyMs: DISK_WATCH_EVERY_MS,
      run: async () => await watchDisks({ folders: env.dataFolders, sink, cell: env.cell, log }, Date.now()),
    },
    { name: "resync_at_start", replicas: "each", everyMs: OUTBOX_EVERY_MS, run: sync.syncAtStart },
    { name: "fill", replicas: "one", everyMs: FILL_EVERY_MS, run: async () => await fill.run() },
    { name: "budgets_at_start", replicas: "each", everyMs: BUDGETS_EVERY_MS, run: sync.rebuildAtStart },
    {
      name: "outbox_watch",
      replicas: "one",
      everyMs: OUTBOX_WATCH_EVERY_MS,
      run: async () => await watch.run(Date.now()),
    },
    {
      name: "queue_watch",
      replicas: "one",
      everyMs: QUEUE_WATCH_EVERY_MS,
      run: async () => await queues.run(Date.now()),
    },
    {
      name: "provisioner_watch",
      replicas: "one",
      everyMs: PROVISIONER_WATCH_EVERY_MS,
      run: async () => await provisionerWatch.run(),
    },
    {
      name: "benchmarks",
      replicas: "one",
      everyMs: BENCHMARKS_EVERY_MS,
      run: async () => await benchmarks.sweep(),
    },
    { name: "batches", replicas: "one", everyMs: BATCHES_EVERY_MS, run: async () => await batches.tick() },
    ...(contents === null
      ? []
      : [
          {
            name: "file_contents",
            replicas: "one" as const,
            everyMs: CONTENTS_EVERY_MS,
            run: async () => await contents.run(),
          },
        ]),
    { name: "tenant_expiry", replicas: "one", everyMs: EXPIRY_EVERY_MS, run: async () => await expiry.run(Date.now()) },
    {
      name: "ended_secrets",
      replicas: "one",
      everyMs: ENDED_SECRETS_EVERY_MS,
      run: async () => await forgetEndedSecrets(ctx),
    },
    {
      name: "console_keys",
      replicas: "one",
      everyMs: CONSOLE_KEYS_EVERY_MS,
      run: async () => await endConsoleKeys(ctx),
    },
    ...((ctx.sealKey?.old.length ?? 0) === 0
      ? []
      : [
          {
            name: "reseal_secrets",
            replicas: "one" as const,
            everyMs: RESEAL_EVERY_MS,
            run: async () => await resealSecrets(ctx),
          },
        ]),
    { name: "outbox_prune", replicas: "one", everyMs: PRUNE_EVERY_MS, run: async () => await publisher.prune() },
    { name: "alerts", replicas: "one", everyMs: ALERTS_EVERY_MS, run: async () => await alerts.run() },
    {
      name: "usage_retention",
      replicas: "one",
      everyMs: RETENTION_EVERY_MS,
      run: async () => await pruneUsage(ctx, analytics, env.usageRetentionDays),
    },
    { name: "energy", replicas: "one", everyMs: POWER_EVERY_MS, run: async () => await power.run(Date.now()) },
    { name: "backup", replicas: "one", everyMs: BACKUP_EVERY_MS, run: async () => await backup.run() },
    { name: "alert_outbox", replicas: "one", everyMs: ALERTS_EVERY_MS, run: async () => await health.alerts.deliver() },
    {
      name: "alert_failures",
      replicas: "one",
      everyMs: FAILURES_EVERY_MS,
      run: async () => await sink.raiseByShare(),
    },
    { name: "alert_messages", replicas: "one", everyMs: MESSAGES_EVERY_MS, run: async () => await sink.sendDue() },
    { name: "alert_prune", replicas: "one", everyMs: PRUNE_EVERY_MS, run: async () => await sink.prune() },
    {
      name: "health_prune",
      replicas: "one",
      everyMs: PRUNE_EVERY_MS,
      run: async () => await pruneChecks(ctx, env.modelHealth.retentionDays),
    },
    // every replica looks for models that are due: they share them by row locks
    ...(env.modelHealth.enabled
      ? [
          {
            name: "model_health",
            replicas: "each" as const,
            everyMs: HEALTH_EVERY_MS,
            run: async () => await health.prober.run(),
          },
        ]
      : []),
    ...(env.provisioner.enabled
      ? [
          {
            name: "provisioner",
            replicas: "one" as const,
            everyMs: env.provisioner.intervalMs,
            run: async () => await provisioner.tick(),
          },
        ]
      : []),
    { name: "compare", replicas: "one", everyMs: COMPARE_EVERY_MS, run: async () => await resync.differing() },
  ];
}
