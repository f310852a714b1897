/** What a terminal sends, as presses with names: `j`, `G`, `ctrl-d`, `enter`, `alt-enter`, `pgdn`, or words that were typed. */
import type { Key } from 'ink'
import { present } from '../protocol/encoding/present.ts'

export type Press = {
  readonly key: string /** What it types where words are written. */
  readonly text?: string
}

const NAMED: readonly (readonly [keyof Key, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageDown', 'pgdn'],
  ['pageUp', 'pgup'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
  ['escape', 'esc'],
]

/**
 * Keys that come together come as one input, and a return among them is only a character of it: each character is a
 * press of its own.
 */
export function pressesOf(input: string, key: Key): Press[] {
  if (key.eventType === 'release') return []
  const name = NAMED.find(([flag]) => key[flag] === true)?.[1]
  if (name !== undefined && input.length <= 1) return [{ key: modified(name, key) }]
  if (key.ctrl && input.length === 1) return [controlPress(input)]
  if (key.meta && input.length > 0) {
    const [first = '', ...rest] = [...input]
    return [
      { key: first === '\r' ? 'alt-enter' : first === '\u007f' ? 'alt-backspace' : `alt-${first}` },
      ...rest.map(press),
    ]
  }
  return [...input].map(press)
}

/** Some terminals send a line feed for ctrl-j, which ends no line of a form here. */
const controlPress = (letter: string): Press => ({ key: `ctrl-${letter}` })

function modified(name: string, key: Key): string {
  if (key.shift && (name === 'tab' || name === 'enter')) return `shift-${name}`
  if (key.meta && name !== 'esc') return `alt-${name}`
  if (key.ctrl && (name === 'left' || name === 'right')) return `ctrl-${name}`
  return name
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'ctrl-j',
  '\t': 'tab',
  '\u001b': 'esc',
  '\u007f': 'backspace',
  '\b': 'backspace',
}

function press(character: string): Press {
  const named = CONTROLS[character]
  if (named !== undefined) return { key: named }
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return { key: `ctrl-${String.fromCharCode(code + 0x60)}` }
  return { key: character === ' ' ? 'space' : character, ...present({ text: character }) }
}
