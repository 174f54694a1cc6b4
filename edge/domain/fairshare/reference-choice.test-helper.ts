/**
 * Which request is next, for the slow reference: every decision examines every waiting request
 * (docs/rules/fairshare.md#admissible-heads, docs/rules/fairshare.md#choosing-the-next).
 */
import { byScore } from "./reference-arithmetic.test-helper.ts";
import type { ReferenceModel, ReferenceScores } from "./reference-scores.test-helper.ts";
import {
  ALL,
  type Candidate,
  type ReferenceGroup,
  ReferenceState,
  type ReferenceTenant,
  type ReferenceWaiter,
} from "./reference-state.test-helper.ts";

export class ReferenceChoice extends ReferenceState {
  /** The waiting request that is granted next; undefined: none can be. */
  protected next(): ReferenceWaiter | undefined {
    if (this.running.length >= this.max) return undefined;
    if (this.algorithm === "weighted") return this.#nextIn(ALL, ALL);
    return (
      (this.waiting.length > 1
        ? this.#choose(
            (group) => this.groupCap(group).below,
            (tenant) => this.isBelow(tenant),
          )
        : undefined) ?? this.#choose(ALL, ALL)
    );
  }

  #choose(
    groupFits: (group: ReferenceGroup) => boolean,
    tenantFits: (tenant: ReferenceTenant) => boolean,
  ): ReferenceWaiter | undefined {
    const standing = this.standing(ALL);
    const places = [...this.groups.values()].flatMap((group) =>
      [...new Set(standing.filter(({ tenant }) => tenant.group === group).map(({ bottleneck }) => bottleneck))].map(
        (bottleneck) => ({
          group,
          bottleneck,
        }),
      ),
    );
    const score = ({ group, bottleneck }: (typeof places)[number]): number =>
      this.lines.served(group, bottleneck).score;
    const open = new Set(
      places.map((place) => place.bottleneck).filter((bottleneck) => bottleneck === null || this.hasRoom(bottleneck)),
    );
    const inOrder = [...open].map((bottleneck) => [
      ...byScore(
        places.filter((place) => place.bottleneck === bottleneck),
        score,
        ({ group }) => this.oldest(group),
      ),
    ]);
    for (const [first] of inOrder) {
      const head = this.waiting.find(({ tenant }) => tenant.group === first?.group);
      if (first === undefined || first.bottleneck === null || head === undefined) continue;
      const settled = this.lines.settled(first.group, first.bottleneck);
      this.#catchUp(this.lines, first.bottleneck, settled, head.arrival.costTokens / first.group.weight);
    }
    for (;;) {
      const shifted = (place: (typeof places)[number]): number => score(place) + this.lines.shift(place.bottleneck);
      const next = byScore(
        inOrder.flatMap((ordered) => ordered.slice(0, 1)),
        shifted,
        ({ group }) => this.oldest(group),
      )[0];
      if (next === undefined) return undefined;
      inOrder.find((ordered) => ordered[0] === next)?.shift();
      const head = groupFits(next.group)
        ? this.#nextIn((tenant) => tenant.group === next.group, tenantFits)
        : undefined;
      if (head !== undefined) return head;
    }
  }

  /** The next of some tenants that compete with one another: each competes with its earliest admissible head. */
  #nextIn(
    of: (tenant: ReferenceTenant) => boolean,
    fits: (tenant: ReferenceTenant) => boolean,
  ): ReferenceWaiter | undefined {
    const standing = this.standing(of);
    const inOrder = (heads: readonly Candidate[]) =>
      byScore(
        heads,
        (head) => this.score(head),
        (head) => head.seen,
      );
    for (const bottleneck of new Set(standing.map((head) => head.bottleneck))) {
      if (bottleneck === null || !this.hasRoom(bottleneck)) continue;
      const [first] = inOrder(standing.filter((head) => head.bottleneck === bottleneck));
      if (first === undefined) continue;
      const request = first.arrival.costTokens / this.w(first.tenant, first.model);
      const lines = this.linesOf(first.tenant);
      this.#catchUp(lines, bottleneck, lines.settled(first.tenant, bottleneck), request);
    }
    const admissible = standing.filter(({ bottleneck }) => bottleneck === null || this.hasRoom(bottleneck));
    const heads = admissible.filter(
      (head, at) => admissible.findIndex(({ tenant }) => tenant === head.tenant) === at && fits(head.tenant),
    );
    const firsts = [...new Set(heads.map((head) => head.bottleneck))].flatMap((bottleneck) =>
      inOrder(heads.filter((head) => head.bottleneck === bottleneck)).slice(0, 1),
    );
    const shifted = (head: Candidate): number => this.score(head) + this.linesOf(head.tenant).shift(head.bottleneck);
    return byScore(firsts, shifted, (head) => head.seen)[0];
  }

  #catchUp(lines: ReferenceScores, model: ReferenceModel, lowest: number, request: number): void {
    const bottleneck = lines.of(model);
    if (bottleneck.timesFull === model.timesFull) return;
    bottleneck.timesFull = model.timesFull;
    bottleneck.shift = Math.max(bottleneck.shift, lines.open - request - lowest);
  }
}
