/**
 * Many changes in one source, of which the running test chooses: each place asks `globalThis.changed` for its number.
 * So a test can be repeated under one change after the other without loading anything anew.
 */
import { type Node, parseSync, visitorKeys } from 'oxc-parser'
import { mutated, type Site } from './sites.ts'

/** `isSwitched`: whether a site can be chosen while tests run; what is evaluated as the file is loaded cannot. */
export type Switched = { readonly source: string; readonly isSwitched: readonly boolean[] }

/** An expression with its other readings, and the expressions inside it. */
type Place = { start: number; end: number; ways: { number: number; text: string }[]; inner: Place[] }
export type Numbered = { readonly number: number; readonly site: Site }
type Range = { readonly start: number; readonly end: number }

/** Puts a switch at each site. */
export function switched(path: string, source: string, sites: readonly Numbered[]): Switched {
  const { program } = parseSync(path, source)
  const top: Place = { start: 0, end: source.length, ways: [], inner: [] }
  const isSwitched = sites.map(({ number, site }) => {
    const found = rangesOf(program, site)
    for (const range of found) addTo(top, range).ways.push({ number, text: changedText(source, site, range) })
    return found.length > 0
  })
  return { source: rendered(source, top), isSwitched }
}

function changedText(source: string, site: Site, { start, end }: Range): string {
  const isUse = site.start < start || site.end > end
  if (isUse) return site.text
  return mutated(source.slice(start, end), { ...site, start: site.start - start, end: site.end - start })
}

function addTo(place: Place, { start, end }: Range): Place {
  if (place.start === start && place.end === end) return place
  const around = place.inner.find(inner => inner.start <= start && end <= inner.end)
  if (around !== undefined) return addTo(around, { start, end })
  const isWithin = (one: Place) => start <= one.start && one.end <= end
  const added = { start, end, ways: [], inner: place.inner.filter(isWithin) }
  place.inner = [...place.inner.filter(one => !isWithin(one)), added]
  return added
}

function rendered(source: string, { start, end, ways, inner }: Place): string {
  let [text, at] = ['', start]
  for (const one of inner.sort((a, b) => a.start - b.start)) {
    text += source.slice(at, one.start) + rendered(source, one)
    at = one.end
  }
  text += source.slice(at, end)
  if (ways.length === 0) return text
  const choices = ways.map(({ number, text }) => `globalThis.changed?.(${number}) ? (${text}) : `)
  return `(${choices.join('')}(${text}))`
}

const functions = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** The expressions that become another one: that of the site, or each use of a constant of the file. */
function rangesOf(program: Node, site: Site): Range[] {
  const path = pathTo(program, site)
  if (path.some(({ type }) => functions.has(type))) return allowed(path) ? [innermost(path)] : []
  const declarator = path.find(({ type }) => type === 'VariableDeclarator')
  if (declarator?.type !== 'VariableDeclarator' || path[1]?.type !== 'VariableDeclaration') return []
  const { id, init } = declarator
  if (id.type !== 'Identifier' || init?.start !== site.start || init.end !== site.end) return []
  const uses = usesOf(program, id.name).filter(({ start }) => start !== id.start)
  const paths = uses.map(use => pathTo(program, use))
  const isUse = (one: readonly Node[]) => one.some(({ type }) => functions.has(type)) && allowed(one)
  return paths.length > 0 && paths.every(isUse) ? uses : []
}

const innermost = (path: readonly Node[]): Range => {
  const { start, end } = path.at(-1) as Node
  return { start, end }
}

/** Brackets would join the line before, or stand where a name must. */
function allowed(path: readonly Node[]): boolean {
  const node = path.at(-1) as Node
  const isFirst = path.some(({ type, start }) => type === 'ExpressionStatement' && start === node.start)
  const parent = path.at(-2)
  const isName = parent?.type === 'Property' && (parent.shorthand || parent.key === node)
  return !isFirst && !isName && !path.some(({ type }) => type.startsWith('TSType'))
}

/** The nodes around a range, the outermost first. */
function pathTo(program: Node, { start, end }: Range): Node[] {
  const path = [program]
  for (let node: Node | undefined = program; node !== undefined; ) {
    node = childrenOf(node).find(child => child.start <= start && end <= child.end)
    if (node !== undefined) path.push(node)
  }
  return path
}

function childrenOf(node: Node): Node[] {
  return (visitorKeys[node.type] ?? []).flatMap(key => {
    const value = (node as unknown as Record<string, Node | (Node | null)[] | null>)[key]
    return (Array.isArray(value) ? value : [value]).filter(child => child != null)
  })
}

function usesOf(node: Node, name: string): Range[] {
  if (node.type === 'Identifier') return node.name === name ? [{ start: node.start, end: node.end }] : []
  return childrenOf(node).flatMap(child => usesOf(child, name))
}
