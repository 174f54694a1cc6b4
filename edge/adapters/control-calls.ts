/** The Worker's calls to the internal routes of the control service (docs/rules/internal-traffic.md#internal-routes). */
const TIMEOUT_MS = 5000;

export class ControlCalls {
  readonly #baseUrl: string;
  readonly #internalTokens: () => Promise<readonly string[]>;

  constructor(baseUrl: string, internalTokens: () => Promise<readonly string[]>) {
    this.#baseUrl = baseUrl;
    this.#internalTokens = internalTokens;
  }

  /** What a log line calls the control service. */
  get host(): string {
    return new URL(this.#baseUrl).host;
  }

  /** Rejects when there is no answer in time. */
  async post(path: string, body: object, timeoutMs = TIMEOUT_MS): Promise<Response> {
    const [token = ""] = await this.#internalTokens();
    return await fetch(new URL(path, this.#baseUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
  }
}
