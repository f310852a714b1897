/**
 * Whether an answer holds a secret of the node. A model that was talked into it writes it another way: as hex or
 * base64, backwards, with spaces and marks between. Those are found, whole; parts, other encodings and words for it are
 * not, which is why a backend gets no secret in the first place.
 */

/** Anything shorter is found in any text. */
const SECRET_CHARACTERS_MIN = 8
const BASE64_OFFSETS = [0, 1, 2] as const

/** Letters and digits alone: what is left whichever case, spaces, marks and base64 alphabet were used. */
function bare(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/0x|\\x/g, '')
    .replaceAll(/[^a-z0-9]/g, '')
}

const reversed = (text: string): string => [...text].reverse().join('')

/** Base64 of bytes wherever they stand in what is encoded, without the characters that their neighbours share. */
function base64Forms(bytes: Buffer): string[] {
  return BASE64_OFFSETS.map(offset => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
  })
}

/** Every form of a secret that is looked for: itself, what it encodes, and what encodes it. */
function formsOf(secret: string | Uint8Array): string[] {
  const bytes = Buffer.from(secret as Uint8Array)
  const backwards = Buffer.from(bytes).reverse()
  const plain = typeof secret === 'string' ? [secret] : []
  const encoded = [bytes, backwards].flatMap(form => [form.toString('hex'), ...base64Forms(form)])
  return [...plain, ...encoded].map(bare).filter(form => form.length >= SECRET_CHARACTERS_MIN)
}

/** Whether a text holds one of these secrets: texts, or bytes that are no text. */
export function holdsSecret(text: string, secrets: readonly (string | Uint8Array)[]): boolean {
  const forms = new Map<string, string[]>()
  for (const form of secrets.filter(secret => secret.length >= SECRET_CHARACTERS_MIN).flatMap(formsOf)) {
    const start = form.slice(0, SECRET_CHARACTERS_MIN)
    forms.set(start, [...(forms.get(start) ?? []), form])
  }
  const searched = bare(text)
  return [searched, reversed(searched)].some(one => {
    for (let i = 0; i + SECRET_CHARACTERS_MIN <= one.length; i++) {
      const candidates = forms.get(one.slice(i, i + SECRET_CHARACTERS_MIN))
      if (candidates?.some(form => one.startsWith(form, i))) return true
    }
    return false
  })
}
