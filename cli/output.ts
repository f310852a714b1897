/** Standard output: written until its reader goes away or its disk is full, and asked afterwards whether all of it arrived. */
import { fstatSync, fsyncSync, statSync, writeFileSync } from 'node:fs'

export type Output = {
  write(text: string): void
  /** Waits until everything written is taken; gives the error that kept it from that. */
  taken(): Promise<Error | undefined>
  /** Aborted with the error as soon as nothing more is taken. */
  readonly lost: AbortSignal
  /** Nobody can ever read it: /dev/null, which a closed standard output is as well. */
  readonly isNull: boolean
}

export function outputTo(stream: typeof process.stdout): Output {
  const controller = new AbortController()
  const { signal: lost } = controller
  const lose = (error: unknown): void => controller.abort(error)
  const faultOf = (): Error | undefined => lost.reason as Error | undefined
  const file = fileOf(stream)
  if (file !== undefined) return toFile(file, lost, lose, faultOf)
  let isWatched = false
  let last = Promise.resolve()
  return {
    write(text) {
      if (lost.aborted) return
      if (!isWatched) stream.on('error', lose)
      isWatched = true
      last = new Promise(resolve => {
        stream.write(text, error => {
          if (error) lose(error)
          resolve()
        })
      })
    },
    async taken() {
      await last
      return faultOf()
    },
    lost,
    isNull: false,
  }
}

/** The stream of the runtime takes a write that a filling disk cut short for a whole one. */
function toFile(
  file: OpenFile,
  lost: AbortSignal,
  lose: (error: unknown) => void,
  faultOf: () => Error | undefined,
): Output {
  const attempt = (work: () => void): void => {
    try {
      if (!lost.aborted) work()
    } catch (error) {
      lose(error)
    }
  }
  return {
    write: text => attempt(() => writeFileSync(file.fd, text)),
    async taken() {
      if (file.isKept) attempt(() => fsyncSync(file.fd))
      return faultOf()
    },
    lost,
    isNull: file.isNull,
  }
}

type OpenFile = { fd: number; isKept: boolean; isNull: boolean }

/** The descriptor behind standard output where it is a file or a device, such as a full disk or /dev/null. */
function fileOf(stream: typeof process.stdout): OpenFile | undefined {
  if (stream.isTTY) return undefined
  try {
    const { fd } = stream
    const stat = fstatSync(fd)
    if (stat.isFile()) return { fd, isKept: true, isNull: false }
    if (!stat.isCharacterDevice()) return undefined
    return { fd, isKept: false, isNull: stat.rdev === statSync('/dev/null').rdev }
  } catch {
    return undefined
  }
}
