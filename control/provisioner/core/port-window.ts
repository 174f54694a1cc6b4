/**
 * Port windows (docs/rules/provisioner.md#port-windows): a replica's job takes the first free port of its window, so that
 * several jobs can share a node. Two replicas never have a port in common while there is room, of whatever models they
 * are: a probe could not tell their servers apart.
 */

const PORT_MAX = 65_535;

/** Which ports are taken by replicas, all of them and those of one model. */
export class PortWindows {
  readonly #span: number;
  readonly #all = new Uint8Array(PORT_MAX + 1);
  readonly #ofModel = new Map<string, Uint8Array>();

  constructor(span: number) {
    this.#span = span;
  }

  /** Notes the window of a replica. */
  take(modelId: string, portBase: number): void {
    const own = this.#ofModel.get(modelId) ?? new Uint8Array(PORT_MAX + 1);
    this.#ofModel.set(modelId, own);
    for (const port of portsOf(portBase, this.#span)) {
      this.#all[port] = 1;
      own[port] = 1;
    }
  }

  /**
   * The first port of the lowest window from `servingPort` on, in steps of the span, that nobody has; when there is none, the
   * lowest that no replica of the model has; null when there is none either.
   */
  lowestFree(modelId: string, servingPort: number): number | null {
    const own = this.#ofModel.get(modelId);
    return this.#search(servingPort, this.#all) ?? (own === undefined ? servingPort : this.#search(servingPort, own));
  }

  #search(servingPort: number, taken: Uint8Array): number | null {
    for (let base = servingPort; base <= PORT_MAX; base += this.#span) {
      if (portsOf(base, this.#span).every((port) => taken[port] === 0)) return base;
    }
    return null;
  }
}

/** The ports of a window; one that begins near the last port is shorter. */
export function portsOf(portBase: number, span: number): readonly number[] {
  return Array.from({ length: Math.max(0, Math.min(span, PORT_MAX - portBase + 1)) }, (_, index) => portBase + index);
}
