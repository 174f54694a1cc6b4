/**
 * The metrics listener: what lags behind, what was lost, and which releases the parts say they run. It is what
 * Prometheus reads, so a listener that the doctor cannot read is not watched by anybody.
 */

import type { Examination } from "./examination.ts";
import { type Sample, samplesOf } from "./exposition.ts";
import { type DoctorFinding, type Examined, findingsOf, type ReleaseSample } from "./finding.ts";
import { CONTROL } from "./management-examination.ts";
import { unreachable } from "./unreachable.ts";

const PART = "metrics listener";
const MIB = 1024 * 1024;
const HOUR_SECS = 3600;
/** One backup may be late; two that are missing are a fault. */
const OVERDUE_INTERVALS = 2;
/** A quarter and half of the room of a ledger; at all of it rows are lost. */
const SPILL_WARN_BYTES = 64 * MIB;
const SPILL_FAIL_BYTES = 128 * MIB;

interface MetricsAccess {
  readonly url: string;
  /** False: the address follows from that of the admin listener, and nobody has said that it is right. */
  readonly isGiven: boolean;
}

export function metricsExamination({ url, isGiven }: MetricsAccess): Examination {
  const { ok, failure, skipped } = findingsOf(PART);
  const silent = (detail: string, fix: string): Examined => ({
    findings: [
      isGiven
        ? failure("reachable", detail, fix)
        : skipped("reachable", `${detail} (${new URL(url).host})`, "name it with --metrics <url>"),
    ],
  });
  return {
    part: PART,
    isGuess: !isGiven,
    run: async (signal) => {
      try {
        const response = await fetch(new URL("/metrics", url), { signal, redirect: "manual" });
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

/** What a scrape says. Pure. */
export function examineMetrics(samples: readonly Sample[], nowMs: number): Examined {
  const of = (name: string): readonly Sample[] => samples.filter((sample) => sample.name === name);
  const first = (name: string): number | undefined => of(name)[0]?.value;
  return {
    findings: [
      ...of("gateway_cell_up").flatMap(({ labels }) => ledgerFindings(samples, labels["cell"] ?? "")),
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
function ledgerFindings(samples: readonly Sample[], cell: string): readonly DoctorFinding[] {
  const { ok, warning, failure } = findingsOf(`cell ${cell}`);
  const value = (name: string): number =>
    samples.find((sample) => sample.name === name && sample.labels["cell"] === cell)?.value ?? 0;
  const [waiting, lost, aside] = ["gateway_spill_bytes", "gateway_telemetry_dropped", "gateway_telemetry_aside"].map(
    value,
  ) as [number, number, number];
  const size = `${(waiting / MIB).toFixed(1)} MiB of usage rows wait for the analytics store`;
  const store = "bring the analytics store back: at 256 MiB rows are lost";
  const state = waiting > SPILL_FAIL_BYTES ? failure : warning;
  return [
    waiting > SPILL_WARN_BYTES ? state("lag", size, store) : ok("lag", size),
    // it counts for ever, and nothing can be done about a loss of long ago
    ...(lost > 0 ? [ok("lag", `${lost} usage rows were lost for good since its storage was made`)] : []),
    ...(aside > 0
      ? [
          warning(
            "lag",
            `the analytics store refuses ${aside} usage rows`,
            "its tables are of another release: upgrade",
          ),
        ]
      : []),
  ];
}

function outboxFindings(pending: number): readonly DoctorFinding[] {
  const { ok, failure } = findingsOf(CONTROL);
  if (Number.isNaN(pending))
    return [failure("lag", "cannot read its outbox: its database does not answer", "bring the database back")];
  // How long they wait is not in the metrics: sync_pending of the attention and the database itself tell.
  const waiting = `${pending} changes of configuration are on their way`;
  return [ok("lag", pending === 0 ? "every change of configuration is delivered" : waiting)];
}

/** Backups that the control service makes by schedule, where one is set; `lastSecs`: 0 means never. */
function scheduleFindings(intervalSecs: number, lastSecs: number, nowSecs: number): readonly DoctorFinding[] {
  if (!(intervalSecs > 0)) return [];
  const { ok, warning } = findingsOf("backup");
  const ageSecs = nowSecs - lastSecs;
  const age = `the last scheduled backup is ${Math.floor(ageSecs / HOUR_SECS)} hours old`;
  const detail = lastSecs > 0 ? age : "no scheduled backup has been made yet";
  if (ageSecs <= OVERDUE_INTERVALS * intervalSecs) return [ok("backup", detail)];
  return [warning("backup", detail, "the log of the control service says why none is made")];
}

function provisionerFindings(held: number, refused: number): readonly DoctorFinding[] {
  const { warning } = findingsOf("provisioner");
  return [
    ...(held > 0
      ? [warning("lag", "has not reconciled for 10 minutes", "POST /api/v1/settings/jobsched/test says why")]
      : []),
    ...(refused > 0
      ? [warning("lag", `${refused} managed models cannot be started`, "provision_error in GET /api/v1/managed")]
      : []),
  ];
}
