/**
 * Whether an answer holds a secret of the node. A model that was talked into it writes it another way: as hex or
 * base64, backwards, with spaces and marks between. Those are found, whole, also in a listing of a file's bytes; parts,
 * other encodings, one inside another and words between are not, which is why a backend gets no secret in the first place.
 */

/** Letters of other scripts that look like Latin ones. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ['а', 'a'],
  ['А', 'a'],
  ['В', 'b'],
  ['ь', 'b'],
  ['с', 'c'],
  ['С', 'c'],
  ['ԁ', 'd'],
  ['е', 'e'],
  ['Е', 'e'],
  ['ѕ', 's'],
  ['Ѕ', 's'],
  ['һ', 'h'],
  ['Н', 'h'],
  ['і', 'i'],
  ['І', 'i'],
  ['ј', 'j'],
  ['Ј', 'j'],
  ['к', 'k'],
  ['К', 'k'],
  ['М', 'm'],
  ['м', 'm'],
  ['о', 'o'],
  ['О', 'o'],
  ['р', 'p'],
  ['Р', 'p'],
  ['ԛ', 'q'],
  ['г', 'r'],
  ['Т', 't'],
  ['т', 't'],
  ['ѵ', 'v'],
  ['ԝ', 'w'],
  ['х', 'x'],
  ['Х', 'x'],
  ['у', 'y'],
  ['У', 'y'],
  ['α', 'a'],
  ['Α', 'a'],
  ['Β', 'b'],
  ['β', 'b'],
  ['ϲ', 'c'],
  ['Ε', 'e'],
  ['ε', 'e'],
  ['Η', 'h'],
  ['Ι', 'i'],
  ['ι', 'i'],
  ['Κ', 'k'],
  ['κ', 'k'],
  ['Μ', 'm'],
  ['Ν', 'n'],
  ['ν', 'v'],
  ['Ο', 'o'],
  ['ο', 'o'],
  ['Ρ', 'p'],
  ['ρ', 'p'],
  ['Τ', 't'],
  ['τ', 't'],
  ['υ', 'u'],
  ['Χ', 'x'],
  ['χ', 'x'],
  ['Υ', 'y'],
  ['Ζ', 'z'],
] as const)
const LOOK_ALIKE = /[\u0370-\u03ff\u0400-\u052f]/gu
/** A token that was made as bytes, and is written in hex. */
const HEX_TOKEN = /^(?:[0-9a-f]{2}){8,}$/i

/** Anything shorter is found in any text. */
const SECRET_CHARACTERS_MIN = 8
const BASE64_OFFSETS = [0, 1, 2] as const
const WORD_JOINTS = ['', '-', '.'] as const

const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|%([0-9a-f]{2})|&#([0-9]{1,7});?/gi
const TAG = /<[^<>]*>/g
/** The number of a line, or the offset in a listing of bytes. */
const FIRST_COLUMN = /^[^\w\n]*[0-9a-f]{1,16}[.):]?[ \t]+/gim
const BYTE_VALUE = /[0-9]+/g
const CODE_POINT_MAX = 0x10ffff

/** Letters and digits alone: what is left whichever case, accents, spaces, marks and base64 alphabet were used. */
function bare(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/0x|\\x|\\u\{?0{0,4}|&#x0{0,4}/g, '')
    .replaceAll(/[^a-z0-9]/g, '')
}

const reversed = (text: string): string => [...text].reverse().join('')

/** What a text may stand for, besides itself. */
function readingsOf(text: string): Set<string> {
  const plain = text.normalize('NFKD').replaceAll(LOOK_ALIKE, letter => LOOK_ALIKES.get(letter) ?? letter)
  const uncounted = plain.replaceAll(FIRST_COLUMN, '')
  const bytes = Buffer.from((plain.match(BYTE_VALUE) ?? []).map(Number).filter(value => value <= 0xff))
  const readings = [
    plain,
    unescaped(plain),
    plain.replaceAll(TAG, ''),
    uncounted,
    ...['  ', '|'].map(mark => bytesColumn(uncounted, mark)),
    bytes.toString('latin1'),
    bytes.toString('hex'),
  ]
  return new Set(readings.map(bare))
}

function unescaped(text: string): string {
  return text.replace(ESCAPE, (whole, ...groups: (string | undefined)[]) => {
    const hex = groups.slice(0, 5).find(digits => digits !== undefined)
    const point = hex === undefined ? Number(groups[5]) : Number.parseInt(hex, 16)
    return point <= CODE_POINT_MAX ? String.fromCodePoint(point) : whole
  })
}

/** The lines of a listing without the same bytes as characters, which `xxd` and `hexdump -C` put after this mark. */
function bytesColumn(listing: string, mark: string): string {
  return listing
    .split('\n')
    .map(line => line.split(mark, 1)[0])
    .join('\n')
}

/** Base64 of bytes wherever they stand in what is encoded, without the characters that their neighbours share. */
function base64Forms(bytes: Buffer): string[] {
  return BASE64_OFFSETS.map(offset => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
  })
}

/** As `hexdump` lists it by default: words of two bytes, the second first. */
function wordsHex(bytes: Buffer): string {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('hex')
}

/** Every form of a secret that is looked for: itself, what it encodes, and what encodes it. */
function formsOf(secret: string | Uint8Array): string[] {
  const plain = typeof secret === 'string' ? [secret] : []
  const spellings = typeof secret === 'string' ? spellingsOf(secret) : [Buffer.from(secret)]
  if (typeof secret === 'string' && HEX_TOKEN.test(secret)) spellings.push(Buffer.from(secret, 'hex'))
  const encoded = spellings.flatMap(bytes => {
    const backwards = Buffer.from(bytes).reverse()
    return [
      wordsHex(bytes),
      ...[bytes, backwards].flatMap(form => [form.toString('hex'), ...base64Forms(form)]),
    ]
  })
  return [...plain, ...encoded].map(bare).filter(form => form.length >= SECRET_CHARACTERS_MIN)
}

/** A text before it is encoded: as it is, in one case, and with its words joined in other ways. */
function spellingsOf(secret: string): Buffer[] {
  const joined = [secret, ...WORD_JOINTS.map(joint => secret.replaceAll(' ', joint))]
  const cased = joined.flatMap(text => [text, text.toLowerCase(), text.toUpperCase()])
  return [...new Set(cased)].map(text => Buffer.from(text))
}

/** Whether a text holds one of these secrets: texts, or bytes that are no text. */
export function holdsSecret(text: string, secrets: readonly (string | Uint8Array)[]): boolean {
  const forms = new Map<string, string[]>()
  for (const form of secrets.filter(secret => secret.length >= SECRET_CHARACTERS_MIN).flatMap(formsOf)) {
    const start = form.slice(0, SECRET_CHARACTERS_MIN)
    forms.set(start, [...(forms.get(start) ?? []), form])
  }
  return [...readingsOf(text)].some(reading =>
    [reading, reversed(reading)].some(one => holdsForm(one, forms)),
  )
}

function holdsForm(text: string, forms: ReadonlyMap<string, readonly string[]>): boolean {
  for (let i = 0; i + SECRET_CHARACTERS_MIN <= text.length; i++) {
    const candidates = forms.get(text.slice(i, i + SECRET_CHARACTERS_MIN))
    if (candidates?.some(form => text.startsWith(form, i))) return true
  }
  return false
}
