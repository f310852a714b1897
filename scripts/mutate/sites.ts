/**
 * The places of a source file where one small change alters what it does: comparisons, guards, booleans, numeric limits.
 * Types, imports, strings and comments hold none. Which of them are tried is chosen by a seed.
 */
import { type Node, parseSync, visitorKeys } from 'oxc-parser'

export type Kind = 'comparison' | 'guard' | 'boolean' | 'limit'

/** One change: the text between `start` and `end` becomes `text`. */
export type Site = {
  readonly kind: Kind
  readonly line: number
  readonly start: number
  readonly end: number
  readonly was: string
  readonly text: string
}

type Change = { start: number; end: number; kind: Kind; text: string }
type Walk = { source: string; found: Change[] }

const comparisons: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
}
const equalities = new Set(['===', '!=='])
const logical: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' }
const leaving = new Set(['ThrowStatement', 'ReturnStatement', 'ContinueStatement', 'BreakStatement'])
/** Nodes of the type language that wrap an expression; every other one holds types only. */
const wrappers = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'])
const limitCalls = new Set(['min', 'max', 'length'])

/** Every site of a TypeScript source, in the order of the text. */
export function sitesOf(path: string, source: string): Site[] {
  const { program, errors } = parseSync(path, source)
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`)
  const walk: Walk = { source, found: [] }
  visit(walk, program)
  return walk.found
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map(change => ({
      ...change,
      line: source.slice(0, change.start).split('\n').length,
      was: source.slice(change.start, change.end),
    }))
}

/** The source with one site changed. */
export function mutated(source: string, site: Site): string {
  return source.slice(0, site.start) + site.text + source.slice(site.end)
}

/** All of them in an order that depends on the seed alone. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const all = [...items]
  let state = seed >>> 0
  for (let i = all.length - 1; i > 0; i--) {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    const j = ((mixed ^ (mixed >>> 14)) >>> 0) % (i + 1)
    ;[all[i], all[j]] = [all[j] as T, all[i] as T]
  }
  return all
}

function visit(walk: Walk, node: Node): void {
  if (node.type === 'ImportDeclaration') return
  if (node.type.startsWith('TS') && !wrappers.has(node.type)) return
  const judge = judges[node.type] as ((walk: Walk, node: Node) => void) | undefined
  judge?.(walk, node)
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
    for (const one of Array.isArray(child) ? child : [child]) if (one) visit(walk, one)
  }
}

type Judges = { [T in Node['type']]?: (walk: Walk, node: Extract<Node, { type: T }>) => void }

/** What each kind of node gives. */
const judges: Judges = {
  BinaryExpression(walk, node) {
    for (const text of comparisons[node.operator] ?? []) add(walk, 'comparison', operator(walk, node), text)
    if (node.operator in comparisons) limits(walk, [node.left, node.right])
  },
  LogicalExpression(walk, node) {
    const text = logical[node.operator]
    if (text !== undefined) add(walk, 'boolean', operator(walk, node), text)
  },
  UnaryExpression(walk, node) {
    if (node.operator === '!') add(walk, 'boolean', { start: node.start, end: node.argument.start }, '')
  },
  Literal(walk, node) {
    if (typeof node.value === 'boolean') add(walk, 'boolean', node, String(!node.value))
  },
  IfStatement(walk, node) {
    guard(walk, node.test)
    if (leaves(node.consequent)) add(walk, 'guard', node.test, 'false')
  },
  ConditionalExpression: (walk, node) => guard(walk, node.test),
  VariableDeclarator(walk, node) {
    if (node.id.type === 'Identifier' && /^[A-Z][A-Z0-9_]*$/.test(node.id.name)) limits(walk, [node.init])
  },
  CallExpression(walk, node) {
    if (callsLimit(node.callee)) limits(walk, node.arguments)
  },
}

/** A condition turned round; one that is an equality or a negation has that change of its own. */
function guard(walk: Walk, test: Node): void {
  if (test.type === 'BinaryExpression' && equalities.has(test.operator)) return
  if (test.type === 'UnaryExpression' && test.operator === '!') return
  add(walk, 'guard', test, `!(${walk.source.slice(test.start, test.end)})`)
}

function leaves(statement: Node): boolean {
  const last = statement.type === 'BlockStatement' ? statement.body.at(-1) : statement
  return last !== undefined && leaving.has(last.type)
}

function callsLimit(callee: Node): boolean {
  return (
    callee.type === 'MemberExpression' &&
    callee.property.type === 'Identifier' &&
    limitCalls.has(callee.property.name)
  )
}

function limits(walk: Walk, nodes: readonly (Node | null)[]): void {
  for (const node of nodes) {
    if (node?.type !== 'Literal' || typeof node.value !== 'number') continue
    add(walk, 'limit', node, String(node.value + 1))
    add(walk, 'limit', node, String(node.value - 1))
  }
}

/** Where the operator stands: between both sides, whatever brackets and comments are there too. */
function operator(walk: Walk, node: { operator: string; left: Node; right: Node }) {
  const between = walk.source.slice(node.left.end, node.right.start)
  const bare = between.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, comment => ' '.repeat(comment.length))
  const start = node.left.end + bare.indexOf(node.operator)
  return { start, end: start + node.operator.length }
}

function add(walk: Walk, kind: Kind, { start, end }: { start: number; end: number }, text: string): void {
  walk.found.push({ kind, start, end, text })
}
