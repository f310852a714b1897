/** Whether small disks can be had here. */
export declare const hasSmallDisks: boolean
/** Works on a disk of so many bytes that goes away afterwards. */
export declare function withSmallDisk<T>(bytes: number, work: (folder: string) => T | Promise<T>): Promise<T>
/** Writes a file that takes all room that is left. */
export declare function fillUp(path: string): void
