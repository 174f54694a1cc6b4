/**
 * The metrics listener: what lags behind, what was lost, and which releases the parts say they run. It is what
 * Prometheus reads, so a listener that the doctor cannot read is not watched by anybody.
 */

import { LOW_BYTES } from "../../kernel/disk-room.ts";
import { fetchLimited } from "./answers.ts";
import { diskFinding } from "./disk-finding.ts";
import type { Examination } from "./examination.ts";
import { type Sample, samplesOf } from "./exposition.ts";
import { type Examined, findingsOf, type LinkedFinding, type ReleaseSample } from "./finding.ts";
import { CONTROL, ITS_ANALYTICS, ITS_DATABASE } from "./management-examination.ts";
import { unreachable } from "./unreachable.ts";

export const METRICS = "metrics listener";
const MIB = 1024 * 1024;
const HOUR_SECS = 3600;
/** One backup may be late; two that are missing are a fault. */
const OVERDUE_INTERVALS = 2;
/** By how much clocks of a gateway may differ before a time of now is taken for one of the future. */
const AHEAD_SECS = 60;
/** A quarter and half of the room of a ledger; at all of it rows are lost. */
const SPILL_WARN_BYTES = 64 * MIB;
const SPILL_FAIL_BYTES = 128 * MIB;

interface MetricsAccess {
  readonly url: string;
  /** False: the address follows from that of the admin listener, and nobody has said that it is right. */
  readonly isGiven: boolean;
}

export function metricsExamination({ url, isGiven }: MetricsAccess): Examination {
  const { ok, failure, skipped } = findingsOf(METRICS);
  const silent = (detail: string, fix: string): Examined => ({
    findings: [
      isGiven
        ? failure("reachable", detail, fix, { symptomOf: [CONTROL] })
        : skipped(
            "reachable",
            `${detail} (${new URL(url).host}): name it with --metrics <url>`,
            "name it with --metrics <url>",
          ),
    ],
  });
  return {
    part: METRICS,
    isGuess: !isGiven,
    run: async (signal) => {
      try {
        const response = await fetchLimited(new URL("/metrics", url), { signal });
        const samples = samplesOf(await response.text());
        if (!samples.some(({ name }) => name === "gateway_cell_up")) {
          const fix = "--metrics must be the address of GATEWAY_METRICS_LISTEN";
          return silent(`answered ${response.status}, not as a metrics listener`, fix);
        }
        const { findings, releases = [] } = examineMetrics(samples, Date.now());
        return { findings: [ok("reachable", `shows ${samples.length} series`), ...findings], releases };
      } catch (error) {
        const { detail, fix } = unreachable(error);
        return silent(detail, fix);
      }
    },
  };
}

/** The metric's value, or 0 if it is absent. */
const number = (value: number | undefined): number => (value === undefined || Number.isNaN(value) ? 0 : value);

/** What a scrape says. Pure. */
export function examineMetrics(samples: readonly Sample[], nowMs: number): Examined {
  const of = (name: string): readonly Sample[] => samples.filter((sample) => sample.name === name);
  const first = (name: string): number | undefined => of(name)[0]?.value;
  return {
    findings: [
      ...of("gateway_cell_up").flatMap(({ labels }) => ledgerFindings(samples, labels["cell"] ?? "")),
      ...of("gateway_disk_free_bytes").flatMap(({ labels: { folder = "" }, value: free }) =>
        dataDiskFindings(
          folder,
          free,
          number(of("gateway_disk_size_bytes").find(({ labels }) => labels["folder"] === folder)?.value),
        ),
      ),
      ...outboxFindings(first("gateway_outbox_pending") ?? 0),
      ...provisionerFindings(first("gateway_provisioner_held") ?? 0, first("gateway_provision_errors") ?? 0),
      ...scheduleFindings(
        first("gateway_backup_interval_seconds") ?? 0,
        first("gateway_backup_last_success_timestamp_seconds") ?? 0,
        nowMs / 1000,
      ),
    ],
    releases: of("gateway_build_info").flatMap(({ labels: { cell, version } }): readonly ReleaseSample[] =>
      version === undefined ? [] : [{ part: cell === undefined ? CONTROL : `cell ${cell}`, version }],
    ),
  };
}

/** Usage rows of a cell that wait, were lost or are refused; a cell that is away reports none. */
function ledgerFindings(samples: readonly Sample[], cell: string): readonly LinkedFinding[] {
  const { ok, warning, failure } = findingsOf(`cell ${cell}`);
  const value = (name: string): number =>
    number(samples.find((sample) => sample.name === name && sample.labels["cell"] === cell)?.value);
  const [waiting, lost, aside] = ["gateway_spill_bytes", "gateway_telemetry_dropped", "gateway_telemetry_aside"].map(
    value,
  ) as [number, number, number];
  const size = `${(waiting / MIB).toFixed(1)} MiB of usage rows wait for the analytics store`;
  const store = "bring the analytics store back: at 256 MiB rows are lost";
  const links = { cause: `rows that wait in cell ${cell}`, symptomOf: ["analytics store", ITS_ANALYTICS] };
  const state = waiting > SPILL_FAIL_BYTES ? failure : warning;
  return [
    waiting > SPILL_WARN_BYTES ? state("lag", size, store, links) : ok("lag", size),
    // it counts for ever, and nothing can be done about a loss of long ago
    ...(lost > 0 ? [ok("lag", `${lost} usage rows were lost for good since its storage was created`)] : []),
    ...(aside > 0
      ? [
          warning(
            "lag",
            `the analytics store refuses ${aside} usage rows`,
            "its tables belong to another release: upgrade",
            { cause: `rows that are refused of cell ${cell}` },
          ),
        ]
      : []),
  ];
}

/** The disk of the control service's machine. */
function dataDiskFindings(folder: string, free: number, total: number): readonly LinkedFinding[] {
  const fix = "make room on it, or enlarge it: when it is full, requests are refused and no change is stored";
  return diskFinding(CONTROL, `the disk of its ${folder} folder`, { free, total, failBelow: LOW_BYTES }, fix);
}

function outboxFindings(pending: number): readonly LinkedFinding[] {
  const { ok, failure } = findingsOf(CONTROL);
  if (Number.isNaN(pending))
    return [
      failure("lag", "cannot read its outbox: its database does not answer", "bring the database back", {
        symptomOf: ["database", ITS_DATABASE],
      }),
    ];
  // How long they wait is not in the metrics: sync_pending of the attention and the database itself tell.
  const waiting = `${pending} configuration changes are on their way`;
  return [ok("lag", pending === 0 ? "every configuration change is delivered" : waiting)];
}

/** Backups that the control service makes by schedule, where one is set; `lastSecs`: 0 means never. */
function scheduleFindings(intervalSecs: number, lastSecs: number, nowSecs: number): readonly LinkedFinding[] {
  if (!(intervalSecs > 0) || !Number.isFinite(lastSecs)) return [];
  const { ok, warning } = findingsOf("backup");
  const ageSecs = nowSecs - lastSecs;
  if (ageSecs < -AHEAD_SECS) {
    const fix = "set the clock of the database; the next backup runs at once anyway";
    return [warning("backup", "the last scheduled backup has a time in the future", fix)];
  }
  const age = `the last scheduled backup is ${Math.floor(Math.max(0, ageSecs) / HOUR_SECS)} hours old`;
  const detail = lastSecs > 0 ? age : "no scheduled backup has been made yet";
  if (ageSecs <= OVERDUE_INTERVALS * intervalSecs) return [ok("backup", detail)];
  const fix = "the log of the control service says why there is none";
  return [warning("backup", detail, fix, { symptomOf: ["scheduled backup"] })];
}

function provisionerFindings(held: number, refused: number): readonly LinkedFinding[] {
  const { warning } = findingsOf("provisioner");
  return [
    ...(held > 0
      ? [
          warning("lag", "has not reconciled for 10 minutes", "POST /api/v1/settings/jobsched/test says why", {
            symptomOf: ["provisioner held"],
          }),
        ]
      : []),
    ...(refused > 0
      ? [
          warning("lag", `${refused} managed models cannot be started`, "provision_error in GET /api/v1/managed", {
            symptomOf: ["managed models that cannot be started"],
          }),
        ]
      : []),
  ];
}
