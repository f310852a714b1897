/** How long the functions of a source are, those that stand in them counted too. */
import type { Node } from 'oxc-parser'
import { childrenOf, lineAt, treeOf } from './nodes.ts'

export type Long = { line: number; lines: number }

const kinds = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Functions of more than `max` lines, blank ones not counted. */
export function longFunctions(path: string, source: string, max: number): Long[] {
  const found: Long[] = []
  const look = (node: Node): void => {
    if (kinds.has(node.type)) {
      const lines = source
        .slice(node.start, node.end)
        .split('\n')
        .filter(line => line.trim() !== '').length
      if (lines > max) found.push({ line: lineAt(source, node.start), lines })
    }
    childrenOf(node).forEach(look)
  }
  look(treeOf(path, source))
  return found
}
