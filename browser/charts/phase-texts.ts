/** The phases of a request as they are named and coloured wherever they are shown. */
import type { PhaseId } from "../explain/request-phases.ts";
import type { chartTexts } from "../messages/en/charts.ts";

/** The identifier of a phase's name in the catalogue, and the position of its colour. */
export const PHASE_LOOKS = {
  queue: { text: "phaseQueue", color: 2 },
  gateway: { text: "phaseGateway", color: 7 },
  first_token: { text: "phaseFirstToken", color: 0 },
  stream: { text: "phaseStream", color: 1 },
  stream_and_attempts: { text: "phaseStreamAndAttempts", color: 1 },
  upstream: { text: "phaseUpstream", color: 0 },
} as const satisfies Record<PhaseId, { readonly text: keyof typeof chartTexts; readonly color: number }>;
