/**
 * The mouse of a terminal: how it is asked for, and its reports, which are taken out of what is typed before anybody
 * else reads that. They are those of SGR mode (1006), which have no limit of columns and end with a letter.
 */

const MOUSE_ON = '\u001b[?1000h\u001b[?1006h'
const MOUSE_OFF = '\u001b[?1006l\u001b[?1000l'

export type Mouse = {
  readonly kind: 'click' | 'wheel_up' | 'wheel_down'
  /** From 0, as lines and cells of a frame. */
  readonly x: number
  readonly y: number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of terminals begin with one
const REPORTS = /\u001b\[(?:20([01])~|<(\d{1,3});(\d{1,5});(\d{1,5})([Mm]))/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of terminals begin with one
const BEGUN = /\u001b\[<[\d;]{0,16}$/
/** Bits of a button that say that shift, alt or control were held. */
const MODIFIERS = 0b11100
const KINDS: Readonly<Record<number, Mouse['kind']>> = { 0: 'click', 64: 'wheel_up', 65: 'wheel_down' }

/** Parts what a terminal sends. Words that are pasted stay words, whatever sequences stand in them. */
export class MouseReader {
  readonly #report: (mouse: Mouse) => void
  #isPasting = false
  #begun = ''

  constructor(report: (mouse: Mouse) => void) {
    this.#report = report
  }

  /** What is left for those who read keys. */
  take(chunk: string): string {
    const all = this.#begun + chunk
    const rest = all.replace(REPORTS, (found, paste, button, x, y, end) => {
      if (paste !== undefined) this.#isPasting = paste === '0'
      if (paste !== undefined || this.#isPasting) return found
      const kind = KINDS[Number(button) & ~MODIFIERS]
      if (end === 'M' && kind !== undefined) this.#report({ kind, x: Number(x) - 1, y: Number(y) - 1 })
      return ''
    })
    this.#begun = this.#isPasting ? '' : (BEGUN.exec(rest)?.[0] ?? '')
    return rest.slice(0, rest.length - this.#begun.length)
  }
}

/** Whether the terminal reports its mouse; never while it is somebody else's. */
export class MouseMode {
  readonly #stdout: NodeJS.WriteStream
  #isWanted = false
  #isOn = false

  constructor(stdout: NodeJS.WriteStream) {
    this.#stdout = stdout
  }

  turn(on: boolean): void {
    this.#isWanted = on
    this.#set(on)
  }

  pause(): void {
    this.#set(false)
  }

  resume(): void {
    this.#set(this.#isWanted)
  }

  #set(on: boolean): void {
    if (on === this.#isOn) return
    this.#isOn = on
    this.#stdout.write(on ? MOUSE_ON : MOUSE_OFF)
  }
}

/** The input of a terminal without the reports of its mouse. */
export function withoutMouse(stdin: NodeJS.ReadStream, report: (mouse: Mouse) => void): NodeJS.ReadStream {
  const reader = new MouseReader(report)
  const read = (size?: number): unknown => {
    const chunk: unknown = stdin.read(size)
    return chunk === null ? null : reader.take(String(chunk))
  }
  return new Proxy(stdin, {
    get(target, name) {
      if (name === 'read') return read
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
