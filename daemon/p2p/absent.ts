/** Stands where direct delivery was left out of the build. */
export const module = undefined
