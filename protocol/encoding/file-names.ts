/**
 * Names of files that strangers chose, made harmless: the one form in which a name is shown, asked about, told to a model
 * and saved, so that nobody says yes to another file than the one that is there afterwards.
 */
import { utf8 } from './bytes.ts'
import { plainText } from './plain-text.ts'

/** Enough to tell a file by; a terminal and a question have the room. */
const CHARACTERS_MAX = 80
/** Every file system takes a name of so many bytes, also with a number added. */
const BYTES_MAX = 200
/** What is shown of the end of a name that is cut, its extension within. */
const END_CHARACTERS_MAX = 16
/** No name that is shown whole is longer; of others both ends are looked at. */
const LOOKED_AT = 4000
const NAMELESS = 'attachment'
/** Names that are devices on Windows, whatever stands after a dot. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\.|$)/i
/** What would end a quoted name in a list of them, or means something to a file system. */
const OF_LISTS = /["“”„‟«»‹›「」＂:*?<>|]/g
const FORMATS = /[\p{Cf}\p{Variation_Selector}]/gu
/** More marks on one letter than living languages need, which cover what stands above. */
const MARKS = /(\p{M}{3})\p{M}+/gu

/** A name without directories, with nothing that hides, ends or forges, its extension always in sight. */
export function fileName(name: string): string {
  const known = name.length <= 2 * LOOKED_AT ? name : name.slice(0, LOOKED_AT) + name.slice(-LOOKED_AT)
  const last = known.split(/[/\\]/).at(-1) ?? ''
  const plain = plainText(last)
    .replace(FORMATS, '')
    .normalize('NFC')
    .replace(MARKS, '$1')
    .replace(OF_LISTS, '_')
    .replace(/\s+/g, ' ')
    .replace(/^[. ]+/, '')
    .replace(/[. ]+$/, '')
    .replace(/^-/, '_')
  if (plain === '') return NAMELESS
  return shortened(DEVICE.test(plain) ? `_${plain}` : plain)
}

/** The file names of several files of one folder: what an earlier one is called already gets a number before its extension. */
export function distinctFileNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map(given => {
    const name = fileName(given)
    const dot = name.lastIndexOf('.')
    const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
    let free = name
    for (let n = 2; taken.has(free.toLowerCase()); n++) free = `${stem} (${n})${extension}`
    taken.add(free.toLowerCase())
    return free
  })
}

const bytesIn = (text: string): number => utf8(text).length

/** The middle left out where a name is too long, between characters. */
function shortened(name: string): string {
  const characters = [...name]
  if (characters.length <= CHARACTERS_MAX && bytesIn(name) <= BYTES_MAX) return name
  const dot = characters.lastIndexOf('.')
  const isExtension = dot > 0 && characters.length - dot <= END_CHARACTERS_MAX
  const end = `…${characters.slice(isExtension ? dot : -END_CHARACTERS_MAX).join('')}`
  let [left, bytes] = [CHARACTERS_MAX - [...end].length, BYTES_MAX - bytesIn(end)]
  let stem = ''
  for (const character of characters) {
    left -= 1
    bytes -= bytesIn(character)
    if (left < 0 || bytes < 0) break
    stem += character
  }
  return stem + end
}
