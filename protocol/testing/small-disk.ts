/** For tests: a file system of a few hundred KiB, where this user may mount one. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

function mount(folder: string, bytes: number): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', folder]).status === 0
}

function unmount(folder: string): void {
  spawnSync('umount', ['-l', folder])
  rmdirSync(folder)
}

/** Whether small disks can be had here. */
export const hasSmallDisks = ((): boolean => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-disk-'))
  const mounted = mount(folder, 64 * 1024)
  if (mounted) unmount(folder)
  else rmdirSync(folder)
  return mounted
})()

/** Works on a disk of so many bytes that goes away afterwards. */
export async function withSmallDisk<T>(bytes: number, work: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-disk-'))
  if (!mount(folder, bytes)) throw new Error('no disk could be mounted')
  try {
    return await work(folder)
  } finally {
    unmount(folder)
  }
}

/** Writes a file that takes all room that is left. */
export function fillUp(path: string): void {
  spawnSync('sh', ['-c', 'head -c 1G /dev/zero > "$0" 2>/dev/null; true', path])
}
