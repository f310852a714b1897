/** A screen without a terminal: presses go in, lines come out. */

import type { View } from '../view/state.ts'
import { NOW } from '../view/testing.ts'
import { widthOf } from './cells.ts'
import { type Frame, frameOf } from './frame.ts'
import { type Effect, firstModel, type Model, type Size } from './model.ts'
import { plainLines } from './paint.ts'
import type { Press } from './press.ts'
import { RowCache } from './rows.ts'
import type { Scene } from './scene.ts'
import { pressed, settled } from './update.ts'
import { pasted } from './writing.ts'

/** Names of keys that are more than their letter. */
const NAMED =
  /^(?:ctrl-|alt-|shift-)?(?:enter|esc|tab|up|down|left|right|home|end|pgup|pgdn|backspace|delete|space|[a-z_])$/

export class Screen {
  model: Model
  view: View
  effects: Effect[] = []
  readonly #cache = new RowCache()
  #rows: readonly string[] = []

  constructor(view: View, size: Size = { columns: 120, rows: 30 }) {
    this.view = view
    this.model = firstModel(size)
    this.show(view)
  }

  get scene(): Scene {
    return { model: this.model, view: this.view, cache: this.#cache, now: NOW }
  }

  /** The node said something. */
  show(view: View): this {
    this.view = view
    this.model = settled(this.scene, this.#rows)
    this.#rows = this.#cache.rows(this.model, view).ids
    return this
  }

  /** Keys by name, as `j`, `ctrl-d`, `enter`; a text in quotes is typed letter by letter. */
  press(...keys: string[]): this {
    for (const key of keys.flatMap(pressesOf)) {
      const { model, effects } = pressed(this.scene, key)
      this.effects.push(...effects)
      this.model = model
      this.show(this.view)
    }
    return this
  }

  paste(text: string): this {
    const { model, effects } = pasted(this.scene, text)
    this.effects.push(...effects)
    this.model = model
    return this.show(this.view)
  }

  get frame(): Frame {
    return frameOf(this.scene)
  }

  get text(): string {
    return plainLines(this.frame.lines).join('\n')
  }

  /** Widths of the lines, which are all that of the screen. */
  get widths(): number[] {
    return [...new Set(this.frame.lines.map(line => line.reduce((sum, { text }) => sum + widthOf(text), 0)))]
  }
}

function pressesOf(key: string): Press[] {
  if (key.startsWith('"')) return [...key.slice(1, -1)].map(letter)
  return [NAMED.test(key) && key.length > 1 ? { key } : letter(key)]
}

const letter = (text: string): Press => ({ key: text === ' ' ? 'space' : text, text })
