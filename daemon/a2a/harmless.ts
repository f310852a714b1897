/** What an agent calls the things of its answer, made harmless: clients save files under these names and echo them in headers. */
import { fileName } from '../../protocol/encoding/file-names.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Part } from './shapes.ts'

const TYPE_CHARACTERS_MAX = 120
const TOKEN = "[\\w!#$%&'*+.^`|~-]+"
const MEDIA_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?: ?; ?${TOKEN}=(?:${TOKEN}|"[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"))*$`,
)
const ANY_TYPE = 'application/octet-stream'

/** The type where it is one, as header fields write it. */
export const harmlessType = (given: string): string =>
  given.length <= TYPE_CHARACTERS_MAX && MEDIA_TYPE.test(given) ? given : ANY_TYPE

/** An id that is no path and no more than one word; those that differ stay different. */
export const harmlessId = (given: string): string =>
  given
    .toWellFormed()
    .replace(/[^\w.:@+=~-]/gu, character => encodeURIComponent(character))
    .replace(/^\.+/, dots => '%2E'.repeat(dots.length))

export const harmlessName = (given: string): string => plainLine(given, given.length)

export function harmlessPart(part: Part): object {
  const { filename, mediaType } = part
  return present({
    ...part,
    filename: filename === undefined ? undefined : fileName(filename),
    mediaType: mediaType === undefined ? undefined : harmlessType(mediaType),
  })
}
