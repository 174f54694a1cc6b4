/** A browser of the console for tests without one: it keeps cookies and names its origin as browsers do. */
import type { Hono } from "hono";

const CONSOLE_ORIGIN = "http://localhost";

export class ConsoleBrowser {
  readonly #app: Hono;
  readonly #cookies = new Map<string, string>();

  constructor(app: Hono) {
    this.#app = app;
  }

  /** The cookies as they would be sent, for a test that steals or keeps them. */
  get cookies(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  set cookies(text: string) {
    this.#cookies.clear();
    for (const pair of text.split("; ").filter((one) => one !== "")) {
      const at = pair.indexOf("=");
      this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const response = await this.#app.request(`${CONSOLE_ORIGIN}${path}`, {
      method,
      headers: {
        ...(this.#cookies.size === 0 ? {} : { cookie: this.cookies }),
        ...(method === "GET" ? {} : { origin: CONSOLE_ORIGIN }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = "", ...rules] = cookie.split("; ");
      const at = pair.indexOf("=");
      if (rules.includes("Max-Age=0")) this.#cookies.delete(pair.slice(0, at));
      else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  async get(path: string): Promise<Response> {
    return await this.send("GET", path);
  }
}
