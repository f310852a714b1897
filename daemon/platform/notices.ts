/** What parts of a node want its owner to know as long as it holds: sentences by the name of who says them. */
export class Notices {
  readonly #said = new Map<string, { sentence: string; untilMs: number }>()

  /** Takes the place of what was said under the name before; nothing takes it back. */
  say(name: string, sentence: string | undefined, untilMs = Number.POSITIVE_INFINITY): void {
    if (sentence === undefined) this.#said.delete(name)
    else this.#said.set(name, { sentence, untilMs })
  }

  current(nowMs: number): string[] {
    return [...this.#said.values()].flatMap(({ sentence, untilMs }) => (nowMs < untilMs ? [sentence] : []))
  }
}
