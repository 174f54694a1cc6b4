/**
 * What is known about the path to a string of a request. It is computed once for each name, and for each element that is an
 * object or a list, not for each string below. So the work for a string does not grow with the length of its path.
 */
import { isOfAny, type MemberRule, type TextScope } from "./text-scopes.ts";
import { isOfServerAnywhere, isServerMember, MEMBER_DEPTH_MAX, nameOf } from "./unread-members.ts";

/** Members of a message, or of its parts, that hold tool arguments of the model, at any depth. */
const CALLED_WITH = new Set(["arguments", "input", "action", "code", "operation"]);
/** Steps to a member of a message, or of an item; names before it are not members. */
const MESSAGE_STEPS = 2;
/** Members of a part that are read as its text. */
const TEXT_OF_PART = new Set(["refusal", "source"]);
/** Lists whose elements are separate texts. */
const APART = new Set(["choices", "messages", "input", "contents", "output"]);

/** Facts that hold for a place and everything in it. Most places have those of their parent. */
interface Inherited {
  /** The member of the scope that it belongs to, or else the one of the body, and which step of the path that is. */
  readonly member: { readonly name: string; readonly at: number };
  readonly rule: MemberRule | undefined;
  readonly isOfServer: boolean;
  /** Some name on the path is a name of messages. */
  readonly isOfMessages: boolean;
  readonly isCalledWith: boolean;
  /** The element of a list of definitions, or the like in an object. */
  readonly definition: KnownPath | null;
  /** Whether it is read as the text of a part. */
  readonly text: KnownPath | null;
}

export class KnownPath {
  /** The place around it; null: the body. */
  readonly up: KnownPath | null;
  /** Distinguishes the place from all others of its body; strings of a list share one. */
  readonly nth: number;
  readonly length: number;
  /** The last name, in the form that is compared; an element has none. */
  readonly name: string;
  readonly isElement: boolean;
  /** The member that contains a string, directly or in lists. */
  readonly leaf: KnownPath;
  readonly inherited: Inherited;

  constructor(scope: TextScope, up: KnownPath | null, step: string | number, nth: number) {
    const name = nameOf(step);
    const length = (up?.length ?? 0) + 1;
    this.up = up;
    this.nth = nth;
    this.length = length;
    this.name = name;
    this.isElement = typeof step === "number";
    this.leaf = this.isElement && up !== null ? up.leaf : this;
    const above = up?.inherited;
    const isNamed = length <= (isOfAny(scope) ? MEMBER_DEPTH_MAX : 1) && scope.has(name);
    const isMember = above === undefined || (isNamed && above.rule === undefined);
    const isServer = (length === 1 && isServerMember(name)) || (length <= MEMBER_DEPTH_MAX && isOfServerAnywhere(name));
    const isMessages = name === "messages";
    const isCalled = length > MESSAGE_STEPS && CALLED_WITH.has(name);
    const isText = up?.isElement === true && TEXT_OF_PART.has(name);
    const isDefinition = !isMember && length === above.member.at + 2;
    if (!isMember && !isServer && !isMessages && !isCalled && !isText && !isDefinition) {
      this.inherited = above;
      return;
    }
    const member = isMember ? { name, at: length - 1 } : above.member;
    const definition = isDefinition ? this : (above?.definition ?? null);
    this.inherited = {
      member,
      rule: scope.get(member.name),
      isOfServer: isServer || above?.isOfServer === true,
      isOfMessages: isMessages || above?.isOfMessages === true,
      isCalledWith: isCalled || above?.isCalledWith === true,
      definition: isMember ? null : definition,
      text: above?.text ?? (isText ? this : null),
    };
  }

  /** Steps from the member of the scope to the string. */
  get steps(): number {
    return this.length - this.inherited.member.at - 1;
  }

  /** A key that strings share if they are parts of one text, such as a message's content; null: it is no part. */
  get whole(): string | null {
    const { text } = this.inherited;
    const { up, name, isElement } = text ?? this;
    const list = up?.up;
    if (isElement || !up?.isElement || list === null || list === undefined || APART.has(list.name)) return null;
    return `${list.nth} ${text === null ? name : "text"}`;
  }
}
