/** The doctor on the folder or the bucket in which all processes of a hub over a database keep long mail. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { freeBytes } from '../files.ts'
import { bucketAt, type FilesPlace, misplaced } from '../long-mail.ts'
import { blobPlaces } from '../store/blob-port.ts'
import { MIB, ROOM_NEEDED_BYTES, ROOM_WISHED_BYTES } from './doctor-machine.ts'

const CHECK = 'long mail'
/** A name that no blob has. */
const NOBODY = '0'.repeat(32)
const BUCKET_MS = 10_000

/** `noted`: the place that the database notes, where that could be asked. */
export async function checkLongMail(files: FilesPlace, noted: string | undefined): Promise<Finding[]> {
  const elsewhere = misplaced(files, noted)
  if (elsewhere !== undefined && !files.isGiven)
    return [note(CHECK, 'was not looked at, because --files names no place', 'name it as the processes do')]
  if (elsewhere !== undefined) return [wrong(CHECK, elsewhere.found, elsewhere.next)]
  return typeof files.place === 'string' ? await checkFolder(files.place) : [await checkBucket(files.place)]
}

async function checkFolder(folder: string): Promise<Finding[]> {
  if (!existsSync(folder)) return [note(CHECK, `there is no ${folder} yet`, 'the first start makes it')]
  if (!isWritable(folder))
    return [
      wrong(
        CHECK,
        `this user cannot write to ${folder}`,
        'give it to the user of the hub, or mount it for writing',
      ),
    ]
  return [ok(CHECK, `lies in ${folder}, which this user may write`), await checkRoomOf(folder)]
}

async function checkRoomOf(folder: string): Promise<Finding> {
  const check = `room of ${CHECK}`
  const free = await freeBytes(folder)
  const found = `${Math.floor(free / MIB)} MiB free on the file system mounted at ${mountOf(folder)}`
  const wished = `have ${ROOM_WISHED_BYTES / MIB} MiB free there`
  if (free < ROOM_NEEDED_BYTES) return wrong(check, `${found}: long mail is refused or soon will be`, wished)
  return free < ROOM_WISHED_BYTES ? note(check, found, wished) : ok(check, found)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The uppermost folder on the same file system. */
function mountOf(folder: string): string {
  const above = dirname(folder)
  return above === folder || statSync(above).dev !== statSync(folder).dev ? folder : mountOf(above)
}

async function checkBucket(bucket: Exclude<FilesPlace['place'], string>): Promise<Finding> {
  const blobs = bucketAt(bucket, blobPlaces.envelopes, { timers: systemTimers, now: systemNow })
  const late = Promise.withResolvers<never>()
  const timer = systemTimers.after(BUCKET_MS, () => late.reject(new Error('it does not answer')))
  try {
    const reader = await Promise.race([blobs.open(NOBODY), late.promise])
    await reader?.close()
    return ok(CHECK, `lies in the bucket ${bucket.bucket}, which answers`)
  } catch (error) {
    const mend = 'look at the log of its server, and whether it takes the credentials of this process'
    return wrong(CHECK, `the bucket ${bucket.bucket} gives nothing: ${wordsOf(error)}`, mend)
  } finally {
    systemTimers.clear(timer)
  }
}
