/** Nodes of a syntax tree, whatever they are of. */
import { type Node, parseSync, visitorKeys } from 'oxc-parser'

/** The tree of a TypeScript source. */
export function treeOf(path: string, source: string): Node {
  const { program, errors } = parseSync(path, source)
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`)
  return program
}

/** What stands directly in a node. */
export function childrenOf(node: Node): Node[] {
  const members = node as unknown as Record<string, Node | (Node | null)[] | null | undefined>
  return (visitorKeys[node.type] ?? []).flatMap(key => members[key] ?? []).filter(child => child !== null)
}

/** The line on which an offset of a source stands. */
export const lineAt = (source: string, offset: number): number => source.slice(0, offset).split('\n').length
