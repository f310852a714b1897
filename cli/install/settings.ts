/** Members of ours in the JSON or JSON5 configuration of another program: comments, order and layout of the rest stay. */
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from 'jsonc-parser'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { CommandFailed } from '../io.ts'
import { asJson } from './json5.ts'
import { targetOf } from './server-entry.ts'

/**
 * A member that is set, or entries that are added to a list; `isOurs` knows them in whatever form they were before.
 * `over`: what takes the place of a value that stands there; undefined where that is somebody else's.
 */
export type Setting =
  | {
      readonly path: readonly string[]
      readonly value: unknown
      readonly over?: (held: unknown) => unknown
    }
  | {
      readonly path: readonly string[]
      readonly add: readonly unknown[]
      readonly isOurs?: (entry: unknown) => boolean
    }

/** The text with the settings in it; an empty or missing file becomes an object. */
export function withSettings(text: string | undefined, settings: readonly Setting[], file: string): string {
  let changed = text === undefined || text.trim() === '' ? `{}${lineEndOf(text)}` : text
  const root = rootOf(changed, file)
  for (const setting of settings) requireOnce(root, setting.path, file)
  for (const setting of settings) {
    const held = valueAt(changed, setting.path)
    if ('value' in setting) {
      const value = valueOver(held, setting, file)
      changed = isEqual(held, value) ? changed : set(changed, setting.path, value)
    } else {
      const entries = listOf(held).filter(entry => has(setting.add, entry) || !isPrevious(setting, entry))
      const missing = setting.add.filter(entry => !has(entries, entry))
      if (missing.length > 0 || entries.length < listOf(held).length)
        changed = set(changed, setting.path, [...entries, ...missing])
    }
  }
  return changed
}

function valueOver(held: unknown, setting: Valued, file: string): unknown {
  if (held === undefined || setting.over === undefined) return setting.value
  const value = setting.over(held)
  if (value === undefined)
    throw new CommandFailed(
      `${file} already has ${setting.path.join('.')}, which svc did not write (it leads to ${plainLine(targetOf(held), 120)}); nothing was changed`,
      'rename that entry or take it out, then run this again',
    )
  return value
}

/** Whether somebody else's value stands where one of them belongs. */
export const isForeign = (text: string, setting: Setting): boolean => {
  const held = valueAt(text, setting.path)
  return held !== undefined && 'value' in setting && setting.over?.(held) === undefined && 'over' in setting
}

/** The text without them: each member gets what it had in `previous`, or goes, with the objects that came with it. */
export function withoutSettings(
  text: string,
  settings: readonly Setting[],
  previous: string | undefined,
  file: string,
): string {
  rootOf(text, file)
  let changed = text
  for (const setting of [...settings].reverse()) {
    if (isForeign(text, setting)) continue
    const held = valueAt(changed, setting.path)
    const before = previous === undefined ? undefined : valueAt(previous, setting.path)
    const value = 'value' in setting ? before : remaining(held, setting, before)
    if (isEqual(held, value)) continue
    changed = prune(set(changed, setting.path, value), setting.path.slice(0, -1), previous)
  }
  return changed
}

/** Whether all of them stand in the text. */
export function holdsSettings(text: string, settings: readonly Setting[], file: string): boolean {
  return withSettings(text, settings, file) === text
}

type Added = Extract<Setting, { add: unknown }>
type Valued = Extract<Setting, { value: unknown }>

function remaining(held: unknown, setting: Added, before: unknown): unknown {
  if (!Array.isArray(held)) return before
  const kept = listOf(before)
  const isAdded = (entry: unknown) => has(setting.add, entry) || isPrevious(setting, entry)
  const entries = listOf(held).filter(entry => has(kept, entry) || !isAdded(entry))
  return entries.length === 0 && before === undefined ? undefined : entries
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const has = (entries: readonly unknown[], entry: unknown) => entries.some(other => isEqual(other, entry))
const isPrevious = ({ isOurs }: Added, entry: unknown) => isOurs?.(entry) === true

/** Takes out objects that came with us and are empty now. */
function prune(text: string, path: readonly string[], previous: string | undefined): string {
  let changed = text
  for (let depth = path.length; depth > 0; depth--) {
    const at = path.slice(0, depth)
    const value = valueAt(changed, at)
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    if (!isEmpty || (previous !== undefined && valueAt(previous, at) !== undefined)) return changed
    changed = set(changed, at, undefined)
  }
  return changed
}

function set(text: string, path: readonly string[], value: unknown): string {
  const indent = /\n([ \t]+)["'\w$]/.exec(text)?.[1] ?? '  '
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: lineEndOf(text),
  }
  const json = asJson(text)
  return applyEdits(text, json.edits(modify(json.text, [...path], value, { formattingOptions })))
}

/** What stands at this place; throws {@link CommandFailed} for what is no JSON object. */
export function memberAt(text: string, path: readonly string[], file: string): unknown {
  if (text.trim() === '') return undefined
  requireOnce(rootOf(text, file), path, file)
  return valueAt(text, path)
}

function rootOf(text: string, file: string): Node {
  const errors: ParseError[] = []
  const root = parseTree(asJson(text).text, errors, { allowTrailingComma: true })
  if (errors.length > 0 || root?.type !== 'object')
    throw new CommandFailed(
      `${file} is not a JSON object that svc can read; nothing was changed`,
      'add the entry by hand: see docs/agents.md',
    )
  return root
}

/** Of a member that stands twice one program reads the first and another the last. */
function requireOnce(root: Node, path: readonly string[], file: string): void {
  const above = path.flatMap((name, depth) => {
    const node = findNodeAtLocation(root, path.slice(0, depth))
    return node !== undefined && doubleIn(node)(name) ? [name] : []
  })
  const held = findNodeAtLocation(root, [...path])
  const [double] = [...above, ...(held === undefined ? [] : doublesBelow(held))]
  if (double === undefined) return
  throw new CommandFailed(
    `${file} has ${plainLine(double, 60)} twice; nothing was changed`,
    'take one of the two out, then run this again',
  )
}

/** Which names an object has more than once. */
function doubleIn(node: Node): (name: string) => boolean {
  const seen = new Set<string>()
  const doubles = new Set<string>()
  for (const name of namesOf(node)) (seen.has(name) ? doubles : seen).add(name)
  return name => doubles.has(name)
}

const namesOf = ({ type, children = [] }: Node): string[] =>
  type === 'object' ? children.map(member => member.children?.[0]?.value as string) : []

function doublesBelow(node: Node): string[] {
  return [...namesOf(node).filter(doubleIn(node)), ...(node.children ?? []).flatMap(doublesBelow)]
}

function valueAt(text: string, path: readonly string[]): unknown {
  const root = parseTree(asJson(text).text, [], { allowTrailingComma: true })
  const node = root === undefined ? undefined : findNodeAtLocation(root, [...path])
  return node === undefined ? undefined : (getNodeValue(node) as unknown)
}

const lineEndOf = (text: string | undefined) => (text?.includes('\r\n') ? '\r\n' : '\n')
export const isEqual = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
