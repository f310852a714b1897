/** A program on a terminal of its own, as `script` makes one: what is typed, and what comes back when. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

export type Size = { columns: number; rows: number }

export class Terminal {
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>
  /** Everything that was written to the terminal. */
  written = ''
  #lastAt = 0

  /** Runs a line of a shell. */
  constructor(line: string, env: Record<string, string | undefined>, { columns, rows }: Size) {
    const sized = `stty rows ${rows} columns ${columns}; exec ${line}`
    this.#child = spawn('script', ['-qfec', sized, '/dev/null'], {
      env: { ...env, TERM: 'xterm-256color' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#lastAt = performance.now()
      this.written += chunk
    })
    this.#ended = new Promise(resolve => this.#child.on('close', resolve))
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys)
  }

  /** Waits until a text was written, from a place on. */
  async sees(text: string | RegExp, from = 0, waitMs = 20_000): Promise<void> {
    const until = performance.now() + waitMs
    while (this.written.slice(from).search(text) < 0) {
      if (performance.now() > until)
        throw new Error(
          `the terminal did not show ${text}; it ends with: ${JSON.stringify(this.written.slice(-400))}`,
        )
      await pause(5)
    }
  }

  /** Waits until nothing was written for a while; gives when the last byte came. */
  async settles(quietMs: number): Promise<number> {
    while (performance.now() - this.#lastAt < quietMs) await pause(5)
    return this.#lastAt
  }

  /** Milliseconds from a key to the last byte that it brought, and how many bytes they were. */
  async key(keys: string, quietMs: number): Promise<{ ms: number; bytes: number }> {
    const before = this.written.length
    const started = performance.now()
    this.type(keys)
    while (this.written.length === before && performance.now() - started < 2_000) await pause(1)
    if (this.written.length === before)
      throw new Error(`${JSON.stringify(keys)} changed nothing on the terminal`)
    const last = await this.settles(quietMs)
    return { ms: last - started, bytes: Buffer.byteLength(this.written.slice(before)) }
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Ends the program, where it has not ended by itself. */
  [Symbol.dispose](): void {
    this.#child.kill()
  }

  /** Exit code once the program has ended. */
  ended(): Promise<number | null> {
    return this.#ended
  }
}
