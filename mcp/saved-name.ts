/**
 * The name under which a file of a stranger is saved. Of what the sender chose one short word is left, so that no sentence
 * reaches a model in it, and no program or agent takes the file by its name or its extension.
 */
import { extname } from 'node:path'
import { fileName } from '../protocol/encoding/file-names.ts'

/** What programs look for is never called so. */
const PREFIX = 'svc'
const WORD_CHARACTERS_MAX = 16
const EXTENSION = /^\.[a-z0-9]{1,8}$/

/** Extensions of what is read, seen or heard by somebody who opens it; nothing runs or loads these by finding them. */
const KEPT: ReadonlySet<string> = new Set(
  `txt md csv tsv pdf rtf odt ods odp docx xlsx pptx epub
  png jpg jpeg gif webp avif bmp tif tiff heic mp3 wav ogg opus flac m4a mp4 webm mov mkv zip gz tar`
    .split(/\s+/)
    .map(name => `.${name}`),
)

/** What these types are called where a name says nothing. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/markdown': '.md',
  'text/csv': '.csv',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
}

type About = { type: string; mark: string; isText: () => boolean }

/** `svc-report-k3xq7abc.pdf`; a `.js` becomes `.js.txt`. `mark` is part of the content id. */
export function savedName(name: string, { type, mark, isText }: About): string {
  const plain = fileName(name)
  const given = extname(plain)
  const stem = given === '' ? plain : plain.slice(0, -given.length)
  const [word = 'file'] = stem.normalize('NFKD').match(/[A-Za-z0-9]+/) ?? []
  const own = `${PREFIX}-${word.slice(0, WORD_CHARACTERS_MAX).toLowerCase()}-${mark}`
  const known = given === '' && Object.hasOwn(EXTENSIONS, type) ? EXTENSIONS[type] : given.toLowerCase()
  if (known !== undefined && KEPT.has(known)) return own + known
  return `${own}${EXTENSION.test(known ?? '') ? known : ''}${isText() ? '.txt' : '.bin'}`
}
