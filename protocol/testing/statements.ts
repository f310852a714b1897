/** Every SQL statement that stands in the sources of a room, those that are built in each way in which they may be. */
import { readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'oxc-parser'

type Node = { type: string; start: number; end: number } & Readonly<Record<string, unknown>>
/** Texts, and the expressions between them by where they stand. */
type Template = { texts: string[]; between: { start: number; end: number }[] }
type Source = { text: string; constants: Map<string, Template> }

/** How a statement is built: what stands for an expression that is no constant, and which are lists of numbers. */
export type Building = {
  /** Each way by itself, the most that may be there. */
  readonly ways: Readonly<Record<string, readonly string[]>>
  readonly numbers: RegExp
}

/** A text, a template, or several of them put together; undefined for anything else. */
function templateOf(node: Node): Template | undefined {
  if (node.type === 'Literal')
    return typeof node['value'] === 'string' ? { texts: [node['value']], between: [] } : undefined
  if (node.type === 'TemplateLiteral') {
    const quasis = node['quasis'] as { value: { cooked: string } }[]
    const between = (node['expressions'] as Node[]).map(({ start, end }) => ({ start, end }))
    return { texts: quasis.map(({ value }) => value.cooked), between }
  }
  if (node.type !== 'BinaryExpression' || node['operator'] !== '+') return undefined
  const [left, right] = [templateOf(node['left'] as Node), templateOf(node['right'] as Node)]
  if (left === undefined || right === undefined) return undefined
  const seam = `${left.texts.at(-1)}${right.texts[0]}`
  return {
    texts: [...left.texts.slice(0, -1), seam, ...right.texts.slice(1)],
    between: [...left.between, ...right.between],
  }
}

function read(path: string): { source: Source; found: Template[] } {
  const text = readFileSync(path, 'utf8')
  const [found, constants]: [Template[], Source['constants']] = [[], new Map()]
  const parts = new Set<number>()
  const name = (key: Node, value: Node | null) => {
    const template = value === null ? undefined : templateOf(value)
    if (key.type === 'Identifier' && template !== undefined) constants.set(String(key['name']), template)
  }
  const take = (node: unknown) => {
    const { start, end } = node as Node
    const template = templateOf(node as Node)
    if (template === undefined || parts.has(start)) return
    for (let at = start; at < end; at++) parts.add(at)
    found.push(template)
  }
  new Visitor({
    VariableDeclarator: ({ id, init }) => name(id as unknown as Node, init as unknown as Node | null),
    Property: ({ key, value }) => name(key as unknown as Node, value as unknown as Node),
    BinaryExpression: take,
    TemplateLiteral: take,
    Literal: take,
  }).visit(parseSync(path, text).program)
  return { source: { text, constants }, found }
}

/** The statements of these files; an expression whose ways are not said is an error that names it. */
export function statementsIn(paths: readonly string[], { ways: built, numbers }: Building): string[] {
  const files = paths.map(read)
  const shared = new Map(
    files.flatMap(({ source }) => [...source.constants].map(([name, it]) => [name, { source, it }])),
  )
  const partOf = (source: Source, expression: string): readonly string[] => {
    if (numbers.test(expression)) return ['1']
    const said = built[expression]
    if (said !== undefined) return said
    const name = expression.split('.').at(-1) as string
    const own = source.constants.get(name)
    const it = own === undefined ? shared.get(name) : { source, it: own }
    if (it === undefined) throw new Error(`how is this built? say it in the ways of the test: ${expression}`)
    return waysOf(it.source, it.it)
  }
  const waysOf = (source: Source, { texts, between }: Template): string[] =>
    texts.reduce<string[]>(
      (ways, text, n) => {
        const place = between[n]
        const parts = place === undefined ? [''] : partOf(source, source.text.slice(place.start, place.end))
        return ways.flatMap(way => parts.map(part => `${way}${text}${part}`))
      },
      [''],
    )
  const mayBe = ({ texts: [first = ''], between }: Template) =>
    isStatement(first) || (first.trim() === '' && between.length > 0)
  const begun = (source: Source, expression: string): string => {
    const name = expression.split('.').at(-1) as string
    return source.constants.get(name)?.texts[0] ?? shared.get(name)?.it.texts[0] ?? ''
  }
  const all = files.flatMap(({ source, found }) =>
    found.filter(mayBe).flatMap(template => {
      const { texts, between } = template
      const [first] = between
      // what begins with an expression is a statement where that is one
      const begins =
        texts[0]?.trim() === '' && first !== undefined && source.text.slice(first.start, first.end)
      if (begins && !isStatement(begun(source, begins))) return []
      return waysOf(source, template)
    }),
  )
  return [...new Set(all)]
}

const isStatement = (text: string) => /^\s*(?:SELECT|UPDATE|DELETE|WITH) /.test(text)
