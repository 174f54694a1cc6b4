/**
 * What the outcome of a check, or a change of configuration, does to the health of a model or endpoint
 * (docs/rules/health.md#states), as pure steps. It decides when an alert is due, never how it is sent. Invariant:
 * between two `down` alerts there is a `recovery` or a change of configuration, and between two `recovery` alerts there
 * is a `down`.
 */

/**
 * What a check found. `unknown`: it could not be determined; `skipped`: no probe was made; `disabled`: the model is
 * disabled.
 */
export type HealthOutcome = "healthy" | "degraded" | "unhealthy" | "unknown" | "skipped" | "disabled";

export interface HealthState {
  /** The status as the API shows it. */
  readonly status: string;
  readonly failures: number;
  readonly firing: boolean;
  /** The first failure of the current series of failures, epoch ms. */
  readonly failingSinceMs: number | null;
}

export interface HealthRules {
  readonly failureThreshold: number;
  readonly alertsEnabled: boolean;
  readonly inMaintenance: boolean;
}

/** The configured health rules. */
interface HealthConfig extends Omit<HealthRules, "failureThreshold"> {
  readonly checksEnabled: boolean;
}

/** Nothing is known: the initial state, and the state after a change of upstream. */
export const UNKNOWN_HEALTH: HealthState = { status: "unknown", failures: 0, firing: false, failingSinceMs: null };

export type HealthAlert = "down" | "recovery";

interface HealthStep {
  readonly state: HealthState;
  readonly alert: HealthAlert | null;
}

/** The state after a check that ended at `nowMs`, and the alert that it raises, if any. */
export function nextHealth(state: HealthState, outcome: HealthOutcome, rules: HealthRules, nowMs: number): HealthStep {
  switch (outcome) {
    case "healthy":
      return {
        state: { status: "healthy", failures: 0, firing: false, failingSinceMs: null },
        alert: state.firing && mayAlert(rules) ? "recovery" : null,
      };
    case "degraded":
    case "unknown":
      return { state: { ...state, status: outcome }, alert: null };
    case "skipped":
      return { state, alert: null };
    case "disabled":
      return { state: { status: "disabled", failures: 0, firing: false, failingSinceMs: null }, alert: null };
    case "unhealthy":
      return afterFailure(state, rules, nowMs);
    default:
      return outcome satisfies never;
  }
}

/** The state after this configuration was saved: when checks are off no failures count, and silenced alerts do not fire. */
export function configureHealth(state: HealthState, config: HealthConfig): HealthState {
  const counted = config.checksEnabled ? state : { ...state, failures: 0, failingSinceMs: null };
  return { ...counted, firing: counted.firing && config.checksEnabled && mayAlert(config) };
}

function afterFailure(state: HealthState, rules: HealthRules, nowMs: number): HealthStep {
  const failures = state.failures + 1;
  const failingSinceMs = state.failingSinceMs ?? nowMs;
  if (failures < rules.failureThreshold) return { state: { ...state, failures, failingSinceMs }, alert: null };
  const fires = !state.firing && mayAlert(rules);
  return {
    state: { status: "unhealthy", failures, firing: state.firing || fires, failingSinceMs },
    alert: fires ? "down" : null,
  };
}

function mayAlert({ alertsEnabled, inMaintenance }: Omit<HealthRules, "failureThreshold">): boolean {
  return alertsEnabled && !inMaintenance;
}
