/** What a page tells its reader to type, and what it shows, block by block. */

export type Block = { section: string; language: string; text: string }

const BLOCK = /^## (?<title>.+)$|^```(?<language>\w+)\n(?<text>[\s\S]*?)^```$/gm

function blocksOf(page: string): Block[] {
  let section = ''
  return [...page.matchAll(BLOCK)].flatMap(({ groups = {} }) => {
    const { title, language = '', text = '' } = groups
    section = title ?? section
    return title === undefined ? [{ section, language, text }] : []
  })
}

export class ToldPage {
  readonly #left: Block[]

  constructor(page: string) {
    this.#left = blocksOf(page)
  }

  /** The next block of a section, which nobody took yet. */
  take(section: string, language = 'sh'): string {
    const [first] = this.#left.filter(block => block.section === section)
    if (first === undefined || first.language !== language)
      throw new Error(`the next block of “${section}” is no ${language}`)
    this.#left.splice(this.#left.indexOf(first), 1)
    return first.text
  }

  /** Those that nobody took. */
  get left(): readonly Block[] {
    return this.#left
  }
}

/** What is new with each release of the server, and at each look. */
const plain = (text: string) =>
  text
    .replaceAll(/PostgreSQL 15\.\d+( \(.*?\))?/g, 'PostgreSQL 15')
    .replaceAll(/\d+ MiB and \d+ s behind/g, 'hardly behind')
    .split('\n')
    .map(line => line.trimEnd())

/** The lines that are shown and were not printed, one below the other. */
export function unshown(shown: string, printed: string): string[] {
  const lines = plain(printed)
  return plain(shown).filter(line => {
    const at = lines.indexOf(line)
    if (at >= 0) lines.splice(0, at + 1)
    return line !== '' && at < 0
  })
}
