/** The texts of a test file that may be names of tests that run. */
import type { Node } from 'oxc-parser'
import { childrenOf, treeOf } from '../code/nodes.ts'

const RUNNERS = new Set(['test', 'it', 'describe', 'suite'])
const LEFT_OUT = new Set(['skip', 'todo'])

/**
 * Its literals and the names of its members, outside of everything that is marked `skip` or `todo`. A comment is none.
 * Data that is no TypeScript, such as vectors, is one text.
 */
export function writtenNames(path: string, source: string): string[] {
  if (!/\.tsx?$/.test(path)) return [source]
  const names: string[] = []
  collect(treeOf(path, source), source, names)
  return names
}

function collect(node: Node, source: string, names: string[]): void {
  if (isLeftOut(node)) return
  if (node.type === 'Literal' && typeof node.value === 'string') names.push(node.value)
  if (node.type === 'TemplateLiteral') names.push(source.slice(node.start, node.end))
  if (node.type === 'Property' && node.key.type === 'Identifier') names.push(node.key.name)
  for (const child of childrenOf(node)) collect(child, source, names)
}

/** `test.skip(…)`, `describe.skip.each(…)(…)`, `test(…, { skip: true }, …)`. */
function isLeftOut(node: Node): boolean {
  if (node.type !== 'CallExpression') return false
  const words = chainOf(node.callee)
  if (!RUNNERS.has(words[0] ?? '')) return false
  return words.some(word => LEFT_OUT.has(word)) || node.arguments.some(isLeavingOut)
}

/** `describe.skip.each(…)` as describe, skip, each. */
function chainOf(node: Node): string[] {
  if (node.type === 'Identifier') return [node.name]
  if (node.type === 'CallExpression') return chainOf(node.callee)
  if (node.type !== 'MemberExpression' || node.property.type !== 'Identifier') return []
  return [...chainOf(node.object), node.property.name]
}

const isLeavingOut = (argument: Node): boolean =>
  argument.type === 'ObjectExpression' &&
  argument.properties.some(
    one =>
      one.type === 'Property' &&
      one.key.type === 'Identifier' &&
      LEFT_OUT.has(one.key.name) &&
      !(one.value.type === 'Literal' && one.value.value === false),
  )
