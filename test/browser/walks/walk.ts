/** A way through the console that is walked by clicks and keys alone, and noted: what was done, and what was seen. */
import type { Locator, Page } from "playwright-core";

/** One thing that somebody did. */
interface WalkStep {
  readonly who: string;
  /** What a reader has to do: `Click "Create key"`. */
  readonly did: string;
  readonly isClick: boolean;
}

/** Called whenever there is something to see. */
type Seen = (title: string, page: Page) => Promise<void>;

export class Walk {
  readonly #steps: WalkStep[] = [];
  readonly #seen: Seen;

  constructor(seen: Seen) {
    this.#seen = seen;
  }

  get steps(): readonly WalkStep[] {
    return this.#steps;
  }

  get clicks(): number {
    return this.#steps.filter(({ isClick }) => isClick).length;
  }

  async click(who: string, locator: Locator, name: string): Promise<void> {
    await locator.click();
    this.#steps.push({ who, did: `Click “${name}”`, isClick: true });
  }

  async type(who: string, field: Locator, name: string, text: string): Promise<void> {
    await field.fill(text);
    this.#steps.push({ who, did: `Type into “${name}”`, isClick: false });
  }

  /** Notes what somebody does outside of the console. */
  note(who: string, did: string): void {
    this.#steps.push({ who, did, isClick: false });
  }

  async see(title: string, page: Page): Promise<void> {
    await this.#seen(title, page);
  }
}
