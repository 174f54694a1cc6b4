/**
 * Competitors in lanes, so that a full model costs nothing to pass over, however many wait for it. Heads of unwatched models
 * share one lane. Heads of a watched model stand in lanes of their own, and a tenant's later heads behind its earlier ones:
 * such a lane is open only while all models before it are full. So an open lane holds admissible heads that their tenants
 * compete with, and nothing else (decisions §20.3).
 */
import { IndexedHeap, type Order } from "./indexed-heap.ts";
import { type Head, hasRoom, type ModelState, type TenantState } from "./state.ts";

export interface Lane {
  readonly key: string;
  /** The watched model that its heads wait for; null when their models are not watched, and so not full. */
  readonly model: ModelState | null;
  /** Watched models that the same tenants have waited for longer. */
  readonly behind: readonly ModelState[];
}

export interface Standing {
  readonly lane: Lane;
  readonly head: Head;
}

/**
 * Where a tenant stands: with its earliest head, and behind each watched one with the next. Nowhere while it holds as many
 * slots as it may.
 */
export function standingsOf(tenant: TenantState): readonly Standing[] {
  const earliest = tenant.headsByArrival.peek();
  if (earliest === undefined || !hasRoom(tenant)) return [];
  if (!earliest.model.watched) return [{ lane: OPEN_LANE, head: earliest }];
  const standings: Standing[] = [];
  const behind: ModelState[] = [];
  for (const head of tenant.headsByArrival.inOrder()) {
    const model = head.model.watched ? head.model : null;
    standings.push({ lane: laneOf(behind, model), head });
    if (model === null) break;
    behind.push(model);
  }
  return standings;
}

/** The lane of heads that stand behind nobody and whose models are not watched. */
const OPEN_LANE: Lane = { key: "", model: null, behind: [] };

function laneOf(behind: readonly ModelState[], model: ModelState | null): Lane {
  const names = behind.map((before) => before.name).sort();
  return { key: JSON.stringify([model?.name ?? null, ...names]), model, behind: [...behind] };
}

function isOpen(lane: Lane): boolean {
  return (lane.model === null || hasRoom(lane.model)) && !lane.behind.some(hasRoom);
}

interface Members<T> {
  readonly lane: Lane;
  readonly items: IndexedHeap<T>;
}

export class Lanes<T> {
  readonly #members = new Map<string, Members<T>>();
  readonly #order: Order<T>;

  constructor(order: Order<T>) {
    this.#order = order;
  }

  /** True when somebody stands in the lane. */
  has(laneKey: string): boolean {
    return this.#members.has(laneKey);
  }

  /** Every lane that has somebody in it. */
  lanes(): readonly Lane[] {
    return [...this.#members.values()].map(({ lane }) => lane);
  }

  /** Adds an item to a lane, or puts it where it now belongs. */
  put(lane: Lane, item: T): void {
    let members = this.#members.get(lane.key);
    if (members === undefined) {
      members = { lane, items: new IndexedHeap(this.#order) };
      this.#members.set(lane.key, members);
    }
    members.items.put(item);
  }

  remove(laneKey: string, item: T): void {
    const members = this.#members.get(laneKey);
    if (members === undefined) return;
    members.items.remove(item);
    if (members.items.size === 0) this.#members.delete(laneKey);
  }

  /** The first item of all open lanes. */
  top(): T | undefined {
    let top: T | undefined;
    for (const { lane, items } of this.#members.values()) {
      const item = items.peek();
      if (item === undefined || !isOpen(lane)) continue;
      if (top === undefined || this.#order(item, top) < 0) top = item;
    }
    return top;
  }

  /** The first item of all open lanes that fits; an item in several lanes may be asked about more than once. */
  first(fits: (item: T) => boolean): T | undefined {
    const top = this.top();
    if (top === undefined || fits(top)) return top;
    const fronts = new IndexedHeap<{ item: T; readonly rest: Generator<T, undefined> }>((a, b) =>
      this.#order(a.item, b.item),
    );
    for (const { lane, items } of this.#members.values()) {
      if (!isOpen(lane)) continue;
      const rest = items.inOrder();
      const item = rest.next().value;
      if (item !== undefined) fronts.put({ item, rest });
    }
    for (let front = fronts.peek(); front !== undefined; front = fronts.peek()) {
      if (fits(front.item)) return front.item;
      const following = front.rest.next().value;
      if (following === undefined) fronts.remove(front);
      else {
        front.item = following;
        fronts.put(front);
      }
    }
    return undefined;
  }
}
