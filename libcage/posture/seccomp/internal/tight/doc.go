// Package tight makes the box's system call filter from Docker's default one.
// It is empty elsewhere than on linux, where the module that holds the default
// builds.
package tight
