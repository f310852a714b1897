/**
 * Members of types and classes that nobody reads. It goes by names, over all sources together: a member counts as read
 * where anything reads one of its name. So what it finds is unread, and of what is unread it finds the part whose names
 * are rare.
 */
import type { Node } from 'oxc-parser'
import { childrenOf, lineAt, treeOf } from './nodes.ts'

export type Member = { path: string; line: number; name: string }
type Seen = { path: string; source: string; isDeclaring: boolean; declared: Member[]; read: Set<string> }

/** The members that no source reads, but for those that leave with the whole that they are of (`isCarried`). */
export function unreadMembers(
  sources: ReadonlyMap<string, string>,
  { declares, isCarried }: { declares: (path: string) => boolean; isCarried: (member: Member) => boolean },
): Member[] {
  const declared: Member[] = []
  const read = new Set<string>()
  for (const [path, source] of sources) {
    look(treeOf(path, source), { path, source, isDeclaring: declares(path), declared, read })
  }
  return declared.filter(member => !read.has(member.name) && !isCarried(member))
}

/** Of the nodes that are looked at, what they are made of. */
type Parts = {
  key: Node
  kind?: string
  override?: boolean
  computed: boolean
  property: Node
  operator: string
  left: Node
  right: Node
  properties: (Node & Partial<Parts>)[]
  value: unknown
}
/** Notes what a node declares or reads; false where what stands in it was looked at. */
type Handler = (node: Parts, seen: Seen) => boolean

const declaring: Handler = ({ key, kind, override, computed }, seen) => {
  const isOurs = kind !== 'constructor' && kind !== 'set' && override !== true && computed !== true
  const name = isOurs && seen.isDeclaring ? nameOf(key) : undefined
  if (name !== undefined) seen.declared.push({ path: seen.path, line: lineAt(seen.source, key.start), name })
  return true
}

const handlers: Record<string, Handler> = {
  TSPropertySignature: declaring,
  TSMethodSignature: declaring,
  PropertyDefinition: declaring,
  MethodDefinition: declaring,
  // what a function is given is for whoever wrote it
  TSFunctionType: () => false,
  MemberExpression({ computed, property }, seen) {
    if (!computed) note(property, seen)
    return true
  },
  // `a.b = c` reads no b
  AssignmentExpression({ operator, left, right }, seen) {
    const target = left as Node & Partial<{ object: Node; computed: boolean }>
    if (operator !== '=' || target.object === undefined || target.computed === true) return true
    look(target.object, seen)
    look(right, seen)
    return false
  },
  ObjectPattern({ properties }, seen) {
    for (const { key, computed } of properties) if (key !== undefined && computed !== true) note(key, seen)
    return true
  },
  // a value such as the name of a column, by which a member may be asked for; tests have any
  Literal({ value }, seen) {
    if (typeof value === 'string' && seen.isDeclaring) seen.read.add(value)
    return true
  },
  // a name in a type, as in Pick<Row, 'name'>, reads nothing
  TSLiteralType: () => false,
}

function look(node: Node, seen: Seen): void {
  if (handlers[node.type]?.(node as unknown as Parts, seen) === false) return
  for (const child of childrenOf(node)) look(child, seen)
}

function note(key: Node, seen: Seen): void {
  const name = nameOf(key)
  if (name !== undefined) seen.read.add(name)
}

function nameOf(key: Node): string | undefined {
  if (key.type === 'Identifier') return key.name
  if (key.type === 'PrivateIdentifier') return `#${key.name}`
  return undefined
}
